/** The ways to reach a model: directly at its server, through the proxy, through the proxyless endpoint. */
import { SseDecoder } from '@privatemode/protocol/api'
import type { RunningStack } from '../e2e/running-stack.ts'

// biome-ignore lint/suspicious/noExplicitAny: wire bodies are what the checks are about
export type Json = any

export type Answer = {
  readonly status: number
  readonly headers: Headers
  /** The whole body as JSON; undefined of a stream. */
  readonly json: Json
  /** The events of a stream, parsed; the end mark of chats stays a text. */
  readonly events: readonly Json[]
}

export type Entrance = {
  readonly name: 'straight' | 'proxy' | 'proxyless'
  open(path: string, body: unknown, signal?: AbortSignal): Promise<Response>
  ask(path: string, body?: unknown): Promise<Answer>
}

/** Keeps no connection unless told to: servers close idle ones after five seconds, sometimes just as one is used again. */
export function straight(url: string, { keepsConnections = false } = {}): Entrance {
  return entrance('straight', url, { keepsConnections })
}

export function throughProxy({ proxyUrl }: RunningStack): Entrance {
  return entrance('proxy', proxyUrl, {})
}

export function throughProxyless(stack: RunningStack): Entrance {
  const { proxylessUrl, apiKey, ca } = stack
  const headers = { authorization: `Bearer ${apiKey.trim()}` }
  return entrance('proxyless', proxylessUrl, { headers, tls: { ca } })
}

type EntranceSettings = {
  readonly keepsConnections?: boolean
  readonly headers?: Record<string, string>
  readonly tls?: { ca: string }
}

function entrance(
  name: Entrance['name'],
  url: string,
  { headers, tls, keepsConnections = true }: EntranceSettings,
): Entrance {
  const open = (path: string, body: unknown, signal?: AbortSignal) =>
    fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      keepalive: keepsConnections,
      ...(tls === undefined ? {} : { tls }),
      ...(signal === undefined ? {} : { signal }),
    })
  const ask = async (path: string, body?: unknown): Promise<Answer> => {
    const response = await open(path, body)
    const { status, headers: told } = response
    const bytes = await readAll(response)
    const isStream = told.get('content-type')?.startsWith('text/event-stream') ?? false
    if (!isStream) return { status, headers: told, json: parse(bytes), events: [] }
    const events = new SseDecoder().push(bytes).map(({ data }) => parseEvent(data))
    return { status, headers: told, json: undefined, events }
  }
  return { name, open, ask }
}

/** What came, also of an answer that is cut: vLLM hangs up on some that it refuses late. */
async function readAll(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of response.body ?? []) chunks.push(chunk)
  } catch {
    // The checks see what is missing.
  }
  return Buffer.concat(chunks)
}

function parse(bytes: Uint8Array): Json {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

const parseEvent = (data: string): Json => (data === '[DONE]' ? data : JSON.parse(data))
