/**
 * One probe: requests a single token, and records when it arrives and what the backend reports
 * about its cache.
 */
import { ApiError, parseRelayError, SseDecoder } from '@privatemode/protocol/api'
import type { Observation } from './judge-caches.ts'

/** One request of the canary: a prompt, its salt and its API key. */
export type Probe = {
  readonly prompt: string
  readonly salt: string | undefined
  /** Uses the second API key. */
  readonly otherKey: boolean
}

/** Sends one probe and reports what was observed. */
export type AskProbe = (probe: Probe, signal: AbortSignal) => Promise<Observation>

/** The endpoint to probe. */
export type ProbeTarget = {
  /** For example `http://127.0.0.1:8080`. */
  readonly url: string
  readonly model: string
  readonly apiKey: string | undefined
  readonly otherApiKey?: string | undefined
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly timeoutMs?: number
}

const maxErrorCharacters = 64 * 1024
const maxStreamBytes = 1024 * 1024

/** Probes an OpenAI-compatible endpoint; failures are an `ApiError` and never quote a prompt or a salt. */
export function httpProbe(target: ProbeTarget): AskProbe {
  const { url, model, timeoutMs = 120_000 } = target
  const address = `${url.replace(/\/+$/, '')}/v1/chat/completions`
  return async ({ prompt, salt, otherKey }, signal) => {
    const apiKey = otherKey ? target.otherApiKey : target.apiKey
    const body = JSON.stringify({
      model,
      messages: [{ role: 'user', content: prompt }],
      max_tokens: 1,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
      ...(salt === undefined ? {} : { cache_salt: salt }),
    })
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (apiKey !== undefined) headers.authorization = `Bearer ${apiKey}`
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const startedMs = performance.now()
    const init = { method: 'POST', headers, body, signal: limited }
    const response = await target.fetch(address, init).catch((cause) => {
      throw failure(signal, cause)
    })
    if (!response.ok) {
      const text = (await response.text()).slice(0, maxErrorCharacters)
      throw parseRelayError(response.status, text, response.headers.get('retry-after'))
    }
    return await readStream(response, startedMs).catch((error) => {
      throw error instanceof ApiError ? error : failure(signal, error)
    })
  }
}

async function readStream(response: Response, startedMs: number): Promise<Observation> {
  const decoder = new SseDecoder()
  let firstTokenMs: number | undefined
  let usage: Usage | undefined
  let bytes = 0
  const reader = response.body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || value === undefined) break
    bytes += value.length
    if (bytes > maxStreamBytes) throw new ApiError('upstream_error', 'the answer does not end')
    for (const { data } of decoder.push(value)) {
      const chunk = parseChunk(data)
      if (chunk?.error !== undefined) throw parseRelayError(502, data, null)
      if (chunk?.choices?.some(hasToken)) firstTokenMs ??= performance.now() - startedMs
      usage = chunk?.usage ?? usage
    }
  }
  if (firstTokenMs === undefined) throw new ApiError('upstream_error', 'the answer has no token')
  const promptTokens = usage?.prompt_tokens ?? undefined
  const cachedTokens = usage?.prompt_tokens_details?.cached_tokens ?? undefined
  return { firstTokenMs, promptTokens, cachedTokens }
}

type Usage = {
  readonly prompt_tokens?: number | null
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null } | null
}
type Choice = {
  readonly delta?: Readonly<Record<string, unknown>> | null
  readonly finish_reason?: string | null
}
type Chunk = {
  readonly choices?: readonly Choice[]
  readonly usage?: Usage | null
  readonly error?: unknown
}

function parseChunk(data: string): Chunk | undefined {
  if (data === '' || data === '[DONE]') return undefined
  try {
    return JSON.parse(data)
  } catch {
    // No `cause`: the platform's message would quote the answer.
    throw new ApiError('upstream_error', 'an event of the stream is not JSON')
  }
}

/** A chunk with only the role may arrive before the prompt was processed; an end never does. */
function hasToken({ delta, finish_reason }: Choice): boolean {
  if (typeof finish_reason === 'string') return true
  return Object.entries(delta ?? {}).some(
    ([name, value]) => name !== 'role' && value !== '' && value !== null,
  )
}

function failure(signal: AbortSignal, cause: unknown): unknown {
  if (signal.aborted) return signal.reason
  const isTimeout = cause instanceof Error && cause.name === 'TimeoutError'
  return isTimeout
    ? new ApiError('timeout', 'a probe was not answered in time', { cause })
    : new ApiError('gateway_unreachable', 'the address could not be reached', { cause })
}
