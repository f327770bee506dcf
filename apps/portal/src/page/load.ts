/** Loads the data of a page and tracks its state: loading, failed, ready. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

export type Loaded<T> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** `refreshing`: shown unchanged while it is loaded again. */
  | { readonly kind: 'ready'; readonly value: T; readonly refreshing: boolean }

/** Loads again whenever one of `inputs` changes, and on request; an outdated answer is dropped. */
export function useLoad<T>(
  load: () => Promise<T>,
  inputs: readonly unknown[],
): readonly [Loaded<T>, () => Promise<void>] {
  const [state, setState] = useState<Loaded<T>>({ kind: 'loading' })
  const round = useRef(0)
  const run = useCallback(async () => {
    const mine = ++round.current
    setState((old) => (old.kind === 'ready' ? { ...old, refreshing: true } : { kind: 'loading' }))
    let next: Loaded<T>
    try {
      next = { kind: 'ready', value: await load(), refreshing: false }
    } catch (error) {
      next = { kind: 'failed', error }
    }
    if (mine === round.current) setState(next)
  }, inputs)
  useEffect(() => {
    void run()
    return () => void round.current++
  }, [run])
  return [state, run]
}
