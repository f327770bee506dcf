/** Sends one request to one worker and says in few words how that went. */
import type { OutboundFetch } from '@privatemode/service'

export type WorkerCall = {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
  /** The caller went away. */
  readonly signal: AbortSignal
  readonly firstByteTimeoutMs: number
}

export type WorkerReply =
  | { readonly kind: 'answer'; readonly response: Response }
  /** No byte of an answer came: another worker may be asked. */
  | { readonly kind: 'silent'; readonly reason: 'unreachable' | 'timeout' }
  | { readonly kind: 'gone' }

export async function askWorker(fetch: OutboundFetch, call: WorkerCall): Promise<WorkerReply> {
  const stop = new AbortController()
  const give = () => stop.abort()
  call.signal.addEventListener('abort', give, { once: true })
  let late = false
  const timer = setTimeout(() => {
    late = true
    stop.abort()
  }, call.firstByteTimeoutMs)
  try {
    const response = await fetch(call.url, {
      method: 'POST',
      headers: call.headers,
      body: call.body,
      signal: stop.signal,
    })
    return { kind: 'answer', response }
  } catch {
    if (call.signal.aborted) return { kind: 'gone' }
    return { kind: 'silent', reason: late ? 'timeout' : 'unreachable' }
  } finally {
    clearTimeout(timer)
  }
}
