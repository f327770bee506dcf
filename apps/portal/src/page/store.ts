/** A value that several parts of the page share and observe. */
import { useEffect, useState } from 'preact/hooks'

export type Store<T> = {
  get(): T
  set(value: T): void
  /** Returns a function that unsubscribes. */
  follow(listener: () => void): () => void
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      value = next
      for (const listener of [...listeners]) listener()
    },
    follow(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(store.get())
  useEffect(() => {
    const read = () => setValue(() => store.get())
    read() // it may have changed between rendering and now
    return store.follow(read)
  }, [store])
  return value
}
