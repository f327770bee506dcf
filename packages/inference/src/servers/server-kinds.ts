/** How the known model servers differ. */
import type { EngineCall, JsonObject } from '../engine.ts'
import type { ServerKind } from './http-settings.ts'
import { isNative } from './native-endpoints.ts'

export type ServerTraits = {
  readonly healthPath: string
  /** How the server can isolate caches: by our salt, by disabling the cache, or not at all. */
  readonly isolation: 'by-salt' | 'cache-off-per-request' | 'none'
  /**
   * The first version whose salts are known to work: vLLM ignores them on some paths before 0.27;
   * SGLang accepted them without effect until spring 2026, so there only the probe counts.
   */
  readonly trustedFrom: readonly [number, number] | undefined
  /** How a server without proof is made to report hits. */
  readonly howToProve?: string
  /** How the counts of a running stream are requested. */
  readonly counts: 'continuous-usage' | 'timings' | 'at-end'
}

export const serverTraits: Readonly<Record<ServerKind, ServerTraits>> = {
  vllm: {
    healthPath: '/health',
    isolation: 'by-salt',
    trustedFrom: [0, 27],
    howToProve: 'start it with --enable-prompt-tokens-details, so that it reports hits',
    counts: 'continuous-usage',
  },
  sglang: {
    healthPath: '/health',
    isolation: 'by-salt',
    trustedFrom: undefined,
    howToProve: 'start it with --enable-cache-report, so that it reports hits',
    counts: 'continuous-usage',
  },
  'llama-server': {
    healthPath: '/health',
    isolation: 'cache-off-per-request',
    trustedFrom: undefined,
    counts: 'timings',
  },
  ollama: {
    healthPath: '/api/version',
    isolation: 'none',
    trustedFrom: undefined,
    counts: 'at-end',
  },
  generic: {
    healthPath: '/v1/models',
    isolation: 'none',
    trustedFrom: undefined,
    counts: 'at-end',
  },
}

/** The body sent to a server: the engine call's own, plus what this server needs to count and isolate. */
export function serverBody(kind: ServerKind, call: Omit<EngineCall, 'signal'>): JsonObject {
  const traits = serverTraits[kind]
  const body: JsonObject = { ...call.body }
  if (call.endpoint === 'embeddings') {
    delete body.stream
  } else {
    body.stream = call.stream
    // Usage is always requested; whether the caller sees it is decided elsewhere.
    if (call.stream && !isNative(call.endpoint)) {
      body.stream_options =
        traits.counts === 'continuous-usage'
          ? { include_usage: true, continuous_usage_stats: true }
          : { include_usage: true }
      if (traits.counts === 'timings') body.timings_per_token = true
    }
  }
  if (traits.isolation === 'cache-off-per-request') body.cache_prompt = false
  return body
}
