/** A scripted model server for tests of everything above it: no model, no randomness. */
import type { Server } from 'bun'
import type { JsonObject, NativeEndpoint } from '../engine.ts'
import type { ServerKind } from '../servers/http-settings.ts'
import { lookUp, type PromptCaches } from './scripted-cache.ts'
import { embed } from './scripted-embeddings.ts'
import {
  type Asked,
  orderedReply,
  promptTokens,
  readAsked,
  type ScriptedReply,
} from './scripted-model.ts'
import { answerNatively, asChat } from './scripted-native.ts'
import { type Refusal, refusalOf, refusalOfRust } from './scripted-refusals.ts'
import { completeReply, type ReplyContext, streamReply } from './scripted-reply.ts'

export type ScriptedServerOptions = {
  readonly kind?: ServerKind
  readonly version?: string
  /** vLLM's second program for its API, which has fewer paths and fields. */
  readonly frontend?: 'rust'
  readonly models?: readonly string[]
  readonly contextLength?: number
  readonly vision?: boolean
  /** Models that accept images, if `vision` does not apply to all. */
  readonly visionModels?: readonly string[]
  /** Models that only support embeddings. */
  readonly embedModels?: readonly string[]
  /** How its prefix cache treats salts. */
  readonly cache?: 'salted' | 'shared' | 'none'
  /** Whether SGLang says that it was started without a cache. */
  readonly saysCacheless?: boolean
  /** Paths on which it silently ignores salts. */
  readonly dropsSaltOn?: readonly string[]
  /** Whether it reports cached tokens; `as-salted` reports what a server that isolates salts would. */
  readonly reportsCache?: boolean | 'as-salted'
  /** Time per prompt token that is not cached. */
  readonly prefillMsPerToken?: number
  /** Redirects every request to this address. */
  readonly redirectTo?: string
  /** Paths on which it refuses long prompts, such as a cache probe. */
  readonly refusesLongOn?: readonly string[]
  /** Paths on which it fails with a status of 500. */
  readonly failsOn?: readonly string[]
  /** Paths that it does not have. */
  readonly lacksPaths?: readonly string[]
  /** Native endpoints of other dialects. */
  readonly native?: readonly NativeEndpoint[]
  /** Modifies its native streams, as a broken server would. */
  readonly reviseEvents?: (events: JsonObject[]) => JsonObject[]
  /** How many tokens more its count of a message reports than the message costs. */
  readonly miscountsBy?: number
  /** Decides a reply before the instructions in the message do. */
  readonly reply?: (asked: Asked) => ScriptedReply | undefined
}

export type Recorded = {
  path: string
  headers: Headers
  body: JsonObject
  wasAborted: boolean
  /** Ends a stream properly, as a server does that is told to. */
  readonly stop: AbortController
  /** Counts of a generation, even if the server does not report them. */
  promptTokens?: number
  cachedTokens?: number
}

export type ScriptedServer = {
  readonly url: string
  readonly requests: Recorded[]
  /** Changes its options, as if it had been restarted. */
  change(options: ScriptedServerOptions): void
  /** Answers 503 to everything while it is down. */
  setDown(isDown: boolean): void
  stop(): Promise<void>
}

const owners: Readonly<Record<ServerKind, string>> = {
  vllm: 'vllm',
  sglang: 'sglang',
  'llama-server': 'llamacpp',
  ollama: 'library',
  generic: 'someone',
}

const maxBodyBytes = 256 * 1024 * 1024
/** SGLang continues for this long after its reader is gone. */
const unreadMs = 2_000

export function startScriptedServer(
  initial: ScriptedServerOptions = {},
  { port = 0, hostname = '127.0.0.1' } = {},
): ScriptedServer {
  let options = initial
  let isDown = false
  const requests: Recorded[] = []
  const seen: PromptCaches = { true: new Map(), told: new Map() }
  const server: Server<undefined> = Bun.serve({
    hostname,
    port,
    idleTimeout: 0,
    maxRequestBodySize: maxBodyBytes,
    async fetch(request) {
      const path = new URL(request.url).pathname
      if (isDown) return new Response('down', { status: 503 })
      if (request.method === 'GET') return describe(path, options)
      if (options.redirectTo !== undefined) {
        return Response.redirect(options.redirectTo + path, 307)
      }
      const body = (await request.json()) as JsonObject
      if (path === '/abort_request' && options.lacksPaths?.includes(path) !== true)
        return abortNamed(requests, body.rid)
      const { headers } = request
      const record: Recorded = { path, headers, body, wasAborted: false, stop: abortController() }
      const left = abortController()
      const leave = () => {
        record.wasAborted = true
        left.abort()
      }
      request.signal.addEventListener('abort', () => {
        if (options.kind === 'sglang') setTimeout(leave, unreadMs)
        else leave()
      })
      requests.push(record)
      return respond(record, left.signal, options, seen)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    change(next) {
      options = { ...options, ...next }
    },
    setDown(next) {
      isDown = next
    },
    stop: () => server.stop(true),
  }
}

const abortController = () => new AbortController()

/** As SGLang: any name is accepted. */
function abortNamed(requests: readonly Recorded[], name: unknown): Response {
  const named = requests.find(({ body }) => (body.rid ?? body.request_id) === name)
  if (named !== undefined) {
    named.wasAborted = true
    named.stop.abort()
  }
  return new Response(null, { status: 200 })
}

function describe(path: string, options: ScriptedServerOptions): Response {
  const { kind = 'vllm', version = '0.27.0', models = ['scripted'], contextLength = 8192 } = options
  const card = (id: string) => ({
    id,
    object: 'model',
    created: 1_750_000_000,
    owned_by: options.frontend === 'rust' ? 'vllm-frontend-rs' : owners[kind],
    ...(kind === 'vllm' || kind === 'sglang' ? { max_model_len: contextLength, root: id } : {}),
  })
  const answers: Record<string, unknown> = {
    '/v1/models': { object: 'list', data: models.map(card) },
    ...(kind === 'vllm' ? { '/version': versionOf(version, options) } : {}),
    ...(kind === 'sglang' ? descriptionOfSglang(version, options) : {}),
    ...(kind === 'ollama' ? { '/api/version': { version } } : { '/health': { status: 'ok' } }),
    ...(kind === 'llama-server' ? { '/props': propsOf(version, options) } : {}),
  }
  const answer = answers[path]
  return answer === undefined ? refuse(404, 'not found') : Response.json(answer)
}

const versionOf = (version: string, { frontend }: ScriptedServerOptions): JsonObject =>
  frontend === 'rust' ? { version, rust_frontend_version: version } : { version }

function descriptionOfSglang(version: string, options: ScriptedServerOptions): JsonObject {
  const { models = ['scripted'], embedModels = [] } = options
  const is_generation = models.some((id) => !embedModels.includes(id))
  return {
    '/server_info': { version, disable_radix_cache: options.saysCacheless === true },
    '/model_info': { is_generation },
  }
}

function propsOf(version: string, { contextLength = 8192, vision = false }: ScriptedServerOptions) {
  return {
    build_info: version,
    default_generation_settings: { n_ctx: contextLength },
    modalities: { vision, audio: false },
  }
}

function respond(
  record: Recorded,
  signal: AbortSignal,
  options: ScriptedServerOptions,
  seen: PromptCaches,
): Response | Promise<Response> {
  const { path, body } = record
  const { kind = 'vllm', embedModels = [], lacksPaths = [] } = options
  if (lacksPaths.includes(path)) return refuse(404, 'not found')
  if (options.frontend === 'rust') {
    const unknown = refusalOfRust(path, body)
    if (unknown !== undefined) return refuse(unknown.status, unknown.message)
  }
  if (options.failsOn?.includes(path)) return refuse(500, 'internal error', path, kind)
  const { models = ['scripted'] } = options
  const refusal = refusalOf(kind, path, body, [...models, ...embedModels])
  if (refusal !== undefined && !(refusal.isLate && body.stream === true))
    return refuse(refusal.status, refusal.message, refusal.isOpenAi ? '' : path, kind)
  const vision = options.vision ?? options.visionModels?.includes(String(body.model)) ?? false
  switch (path) {
    case '/v1/chat/completions':
    case '/v1/completions':
      if (embedModels.includes(String(body.model))) return refuse(400, 'this model only embeds')
      return generate(record, signal, options, seen, refusal)
    case '/v1/messages':
    case '/v1/responses': {
      const endpoint = path === '/v1/messages' ? 'messages' : 'responses'
      if (!(options.native?.includes(endpoint) ?? false)) break
      return generate(record, signal, options, seen, refusal, endpoint)
    }
    case '/v1/messages/count_tokens': {
      if (kind === 'ollama') return new Response('404 page not found', { status: 404 })
      if (!(options.native?.includes('messages') ?? false)) break
      const counted = promptTokens(asChat('messages', body)).length
      return Response.json({ input_tokens: counted + (options.miscountsBy ?? 0) })
    }
    case '/v1/embeddings':
      return embed(body, options.prefillMsPerToken ?? 0, signal)
    case '/tokenize': {
      const hasImage = JSON.stringify(body.messages ?? '').includes('"image_url"')
      if (kind === 'vllm' && hasImage && !vision) return refuse(400, 'not a multimodal model')
      const tokens = promptTokens(kind === 'llama-server' ? { prompt: body.content } : body)
      return Response.json({ count: tokens.length, tokens: [...tokens.keys()] })
    }
    case '/apply-template':
      return Response.json({ prompt: promptTokens(body).join('') })
    case '/api/show':
      return Response.json({
        capabilities: ['completion', 'tools', ...(vision ? ['vision'] : [])],
        model_info: { 'scripted.context_length': options.contextLength ?? 8192 },
      })
  }
  return refuse(404, 'not found')
}

function generate(
  record: Recorded,
  signal: AbortSignal,
  options: ScriptedServerOptions,
  seen: PromptCaches,
  lateError: Refusal | undefined,
  native?: NativeEndpoint,
): Response | Promise<Response> {
  const { path } = record
  const { kind = 'vllm' } = options
  const body = native === undefined ? record.body : asChat(native, record.body)
  const asked = readAsked(body)
  const ordered = options.reply?.(asked) ?? orderedReply(asked)
  const reply = lateError === undefined ? ordered : { ...ordered, lateError }
  const announcesRole = options.frontend === 'rust'
  if (reply.error !== undefined) return refuse(reply.error.status, reply.error.message, path, kind)
  if (reply.lateError !== undefined && body.stream !== true)
    return refuse(reply.lateError.status, reply.lateError.message, path, kind)
  const prompt = promptTokens(body)
  if (prompt.length > 50 && options.refusesLongOn?.includes(path))
    return refuse(400, 'it does not like this')
  const limit = options.contextLength ?? 8192
  const output = Number(body.max_completion_tokens ?? body.max_tokens ?? 0)
  const prompts = Array.isArray(body.prompt) ? body.prompt : [body.prompt]
  const longest = Math.max(...prompts.map((one) => promptTokens({ ...body, prompt: one }).length))
  // llama-server and Ollama generate until the context is full.
  const isUnlimited = kind === 'llama-server' || kind === 'ollama'
  const isTooLong = longest + (isUnlimited ? 0 : output) > limit
  const overflow = kind === 'sglang' ? overflowOfSglang : overflowOfVllm
  if (isTooLong) return refuse(400, overflow(prompt.length, output, limit, native), path, kind)
  const { cache = 'salted', reportsCache = true, prefillMsPerToken = 0 } = options
  const isDropped = options.dropsSaltOn?.includes(path) ?? false
  const told = lookUp(prompt, body, 'salted', seen.told)
  const cached = lookUp(prompt, body, isDropped ? 'shared' : cache, seen.true)
  record.promptTokens = prompt.length
  record.cachedTokens = cached
  const prefillMs = (reply.prefillMs ?? 0) + (prompt.length - cached) * prefillMsPerToken
  const context: ReplyContext = {
    kind,
    isChat: path === '/v1/chat/completions',
    body,
    reply: { ...reply, prefillMs },
    announcesRole,
    promptCount: prompt.length,
    revise: options.reviseEvents,
    stop: record.stop.signal,
    cachedCount: reportsCache === 'as-salted' ? told : reportsCache ? cached : undefined,
  }
  if (native !== undefined) return answerNatively(native, context, signal)
  const isStream = body.stream === true
  return isStream ? streamReply(context, signal) : completeReply(context, signal)
}

/** vLLM's wording; it truncates its count of the prompt at the limit, so that count is wrong. */
function overflowOfVllm(
  prompt: number,
  output: number,
  limit: number,
  native: NativeEndpoint | undefined,
): string {
  const name = native === 'messages' ? 'max_completion_tokens' : 'max_tokens'
  if (output > limit)
    return `${name}=${output} cannot be greater than max_model_len=${limit}. Please request fewer output tokens. (parameter=${name}, value=${output})`
  const room = limit - output
  return `You passed ${Math.min(prompt, room + 1)} input tokens and requested ${output} output tokens. However, the model's context length is only ${limit} tokens, resulting in a maximum input length of ${room} tokens. Please reduce the length of the input prompt.`
}

function overflowOfSglang(prompt: number, output: number, limit: number): string {
  if (prompt >= limit)
    return `The input (${prompt} tokens) is longer than the model's context length (${limit} tokens).`
  if (output > limit)
    return `max_completion_tokens is too large: ${output}.This model supports at most ${limit} completion tokens.`
  return `Requested token count exceeds the model's maximum context length of ${limit} tokens. You requested a total of ${prompt + output} tokens: ${prompt} tokens from the input messages and ${output} tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.`
}

/** Messages have the error form of their dialect, everything else OpenAI's; SGLang unwraps it for chats. */
function refuse(
  status: number,
  message: string,
  path = '',
  kind: ServerKind = 'generic',
): Response {
  const type = status < 500 ? 'BadRequestError' : 'InternalServerError'
  if (kind === 'sglang' && path.endsWith('/completions'))
    return Response.json({ object: 'error', message, type, param: null, code: status }, { status })
  if (path === '/v1/messages')
    return Response.json({ type: 'error', error: { type, message } }, { status })
  return Response.json({ error: { message, type, param: null, code: status } }, { status })
}
