/** Submits a form, one submission at a time, and keeps its error. */
import { useState } from 'preact/hooks'

export type Submission = {
  readonly busy: boolean
  readonly error: unknown
  readonly submit: (event?: Event) => void
}

export function useSubmit(send: () => Promise<void>): Submission {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const run = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await send()
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  const submit = (event?: Event) => {
    event?.preventDefault()
    if (!busy) void run()
  }
  return { busy, error, submit }
}
