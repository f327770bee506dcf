/** The input and output of a run of the load generator. */

export type LoadSpec = {
  readonly port: number
  readonly tls: boolean
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly work: Work
  /** Prepended to the model's name, for gateways that expect the provider there. */
  readonly modelPrefix?: string
  readonly connections: number
  /** Requests are started for this long; those in flight are read to their end. */
  readonly seconds: number
  /** Ends sooner, after this many requests were started. */
  readonly requests?: number
  /** A new connection for every request. */
  readonly churn?: boolean
  /**
   * Every connection makes a request that does not count, then all wait for a line on standard
   * input: this excludes the cost of connecting, which grows with the number of connections.
   */
  readonly rehearse?: boolean
  /** Seals every request, for gateway and worker without a proxy in front. */
  readonly sealed?: SealedSpec
}

/** What the generator verifies, and how, before it seals. */
export type SealedSpec = {
  readonly url: string
  readonly apiKey: string
  readonly manifestPath: string
  readonly rootFingerprint: string
  readonly shape: 'off' | 'default'
  /** Base64: where a worker is asked without its gateway, what the gateway would sign with. */
  readonly relayKey?: string
}

/** What is asked for; `bodyBytes` is the size of the request's body. */
export type Work =
  /** With tools, our worker requests the answer as a whole. */
  | { readonly kind: 'chat'; readonly bodyBytes: number; readonly hasTools?: boolean }
  | { readonly kind: 'stream' }
  | { readonly kind: 'paced-stream' }
  /** As fast as it goes, in the same pieces at any load. */
  | { readonly kind: 'steady-stream' }
  | { readonly kind: 'embeddings'; readonly inputs: number }

export type Spread = { readonly p50: number; readonly p99: number; readonly most: number }

export type LoadResult = {
  /** All requests that were answered correctly. */
  readonly requests: number
  readonly failures: number
  readonly firstFailure: string | undefined
  /** Answers per second, within the time in which requests were started. */
  readonly perSecond: number
  readonly latencyUs: Spread
  /** To the first byte of the payload. */
  readonly firstByteUs: Spread
  /** From a chunk's time stamp to its arrival; only paced streams have stamps. */
  readonly chunkDelayUs: Spread
  /** Mean number of pieces of an answer: chunks of the transfer. */
  readonly piecesPerAnswer: number
  readonly bytesIn: number
  /** What the generator itself used. */
  readonly cpuSeconds: number
  readonly wallSeconds: number
}

export const streamChunks = 256
export const pacedChunksPerSecond = 50
/** The position of a chunk's time stamp: microseconds of the machine's clock, 16 digits. */
export const stampMark = '@@'
export const stampDigits = 16

/** The same for all processes: the runtime's own monotonic clock begins with each of them. */
export const clockUs = (): number => Math.round((performance.timeOrigin + performance.now()) * 1000)

/** The model's name selects how it answers, since gateways rewrite everything else. */
export const models = { plain: 'bench', paced: 'bench-paced', steady: 'bench-steady' } as const

export function modelOf({ kind }: Work): string {
  switch (kind) {
    case 'chat':
    case 'stream':
    case 'embeddings':
      return models.plain
    case 'paced-stream':
      return models.paced
    case 'steady-stream':
      return models.steady
  }
}

export function requestBody(work: Work, modelPrefix = ''): string {
  const model = modelPrefix + modelOf(work)
  switch (work.kind) {
    case 'chat':
      return chatBody(model, false, work.bodyBytes, work.hasTools)
    case 'stream':
    case 'paced-stream':
    case 'steady-stream':
      return chatBody(model, true, 1024)
    case 'embeddings': {
      const input = Array.from({ length: work.inputs }, (_, i) => `text ${i} ${'word '.repeat(16)}`)
      return JSON.stringify({ model, input })
    }
  }
}

function chatBody(model: string, stream: boolean, bytes: number, hasTools = false): string {
  const look = { name: 'look', parameters: { type: 'object', properties: {} } }
  const tools = hasTools ? { tools: [{ type: 'function', function: look }] } : {}
  const body = (content: string) =>
    JSON.stringify({ model, stream, messages: [{ role: 'user', content }], ...tools })
  return body('x'.repeat(Math.max(1, bytes - body('').length)))
}
