/** Sends one request to the API core and reads the complete answer, for tests. */
import { SseDecoder } from '@privatemode/protocol/api'
import { answer } from '../dialects/answer.ts'
import type { ApiAnswer, ApiRequest, ApiTimes } from '../dialects/api-request.ts'
import { parseLong } from '../dialects/parse-body.ts'
import type { Engine, JsonObject } from '../engine.ts'

export type Asked = {
  answer: ApiAnswer
  status: number
  headers: Record<string, string>
  text: string
  /** The body as JSON; tests look deep into it. */
  // biome-ignore lint/suspicious/noExplicitAny: wire bodies are what a test is about
  json: any
  /** The events of a stream; `data` is parsed unless it is the end mark. */
  // biome-ignore lint/suspicious/noExplicitAny: wire bodies are what a test is about
  events: { event: string | undefined; data: any }[]
}

type Options = Partial<Omit<ApiRequest, 'path' | 'body'>> & {
  signal?: AbortSignal
  times?: ApiTimes
}

/** Called after each piece with everything received so far. */
export type Heard = (text: string) => void

export function start(
  engine: Engine,
  path: string,
  body: JsonObject | Uint8Array | string,
  options: Options = {},
): Promise<ApiAnswer> {
  const { signal = new AbortController().signal, times, ...rest } = options
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const bytes = body instanceof Uint8Array ? body : new TextEncoder().encode(text)
  const request = { path, body: bytes, headers: {}, defaultCacheSalt: undefined, ...rest }
  const parsing = parseLong(path, bytes, engine, async () => {})
  if (parsing === undefined) return answer(request, engine, signal, times)
  return parsing.then((parsed) => answer({ ...request, body: parsed }, engine, signal, times))
}

export async function ask(
  engine: Engine,
  path: string,
  body: JsonObject | Uint8Array | string,
  { heard, ...options }: Options & { readonly heard?: Heard } = {},
): Promise<Asked> {
  const got = await start(engine, path, body, options)
  const text = await readText(got, heard)
  const isStream = got.headers['content-type']?.startsWith('text/event-stream') ?? false
  return {
    answer: got,
    status: got.status,
    headers: got.headers,
    text,
    json: isStream ? undefined : JSON.parse(text),
    events: isStream ? readEvents(text) : [],
  }
}

async function readText(got: ApiAnswer, heard?: Heard): Promise<string> {
  if (got.body instanceof Uint8Array) return new TextDecoder().decode(got.body)
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of got.body) {
    text += decoder.decode(bytes, { stream: true })
    heard?.(text)
  }
  return text
}

function readEvents(text: string): Asked['events'] {
  return new SseDecoder().push(new TextEncoder().encode(text)).map(({ event, data }) => ({
    event,
    data: data === '[DONE]' ? data : JSON.parse(data),
  }))
}
