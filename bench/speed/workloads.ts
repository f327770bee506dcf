/** The requests sent to every target, and for how long. */
import { pacedChunksPerSecond, streamChunks, type Work } from '../load/load-spec.ts'
import { type TargetName, targetNames } from './target.ts'

export type Workload = {
  readonly id: WorkloadId
  readonly title: string
  readonly work: Work
  readonly connections: number
  readonly tls?: boolean
  readonly churn?: boolean
  /** One request on every connection instead of as many as come in the time. */
  readonly once?: boolean
  /** The targets that take part; all by default. */
  readonly targets?: readonly TargetName[]
  /** Is part of the short profile. */
  readonly quick?: boolean
  /** Takes this many times as long as others: its requests are few. */
  readonly stretch?: number
  /**
   * This much of the same load precedes every round and does not count: while other targets had
   * their turn, runtimes discarded code and the caches were filled with other data.
   */
  readonly leadSeconds?: number
  /** Does what one before it did: programs are warm. */
  readonly isWarm?: boolean
  /** Other than the usual number of rounds. */
  readonly rounds?: number
}

export type WorkloadId =
  | 'chat-1'
  | 'chat-32'
  | 'chat-256'
  | 'tools-32'
  | 'stream-1'
  | 'stream-32'
  | 'stream-256'
  | 'stream-1000'
  | 'steady-1'
  | 'steady-32'
  | 'steady-1000'
  | 'paced-32'
  | 'paced-256'
  | 'prompt-100k'
  | 'prompt-1m'
  | 'prompt-10m'
  | 'embeddings'
  | 'churn'
  | 'tls-32'
  | 'tls-churn'

const chat = { kind: 'chat', bodyBytes: 1024 } as const
const stream = { kind: 'stream' } as const
const paced = { kind: 'paced-stream' } as const
const steady = { kind: 'steady-stream' } as const
const prompt = (bodyBytes: number): Work => ({ kind: 'chat', bodyBytes })

const parts: readonly TargetName[] = ['direct, sealed', 'gateway', 'worker']
/** Metering costs the same whatever was asked for: small chats show it best. */
const metered: readonly TargetName[] = ['gateway, metered', 'gateway, PostgreSQL']
const unmetered = targetNames.filter((name) => !metered.includes(name))
/** Third-party gateways take many seconds for these two. */
const strong: readonly TargetName[] = [
  'direct',
  'nginx',
  'haproxy',
  'proxy',
  'proxy, shape off',
  'whole path',
  'whole path, shape off',
]
const growth: readonly TargetName[] = ['nginx', 'proxy, shape off']
/** A shape changes streams and nothing else. */
const oneShape: readonly TargetName[] = [
  'direct',
  'nginx',
  'haproxy',
  'portkey',
  'llms',
  'litellm',
  'proxy',
  ...parts,
  'whole path',
]
/** Chunks have no time stamps that can be read where the load generator only seals. */
const paceable = (name: TargetName) => !parts.includes(name)

/** There are few requests in a second, and their latencies, which are goals, vary most from minute to minute. */
export const oneAtATime = { connections: 1, isWarm: true, stretch: 2, rounds: 5 } as const

/** In this order: the workloads of goals come first, in case the time runs out. */
export const workloads: readonly Workload[] = [
  {
    id: 'chat-32',
    title: 'small chat, 32 at once',
    work: chat,
    connections: 32,
    targets: [...oneShape, ...metered],
    quick: true,
    leadSeconds: 0.5,
  },
  {
    id: 'tools-32',
    title: 'small chat with tools, 32 at once',
    work: { ...chat, hasTools: true },
    connections: 32,
    targets: ['direct', 'nginx', 'portkey', 'worker', 'whole path'],
    leadSeconds: 0.5,
  },
  {
    id: 'chat-1',
    title: 'small chat, 1 at a time',
    work: chat,
    targets: oneShape,
    leadSeconds: 0.5,
    ...oneAtATime,
  },
  {
    id: 'stream-32',
    title: 'fast streams, 32 at once',
    work: stream,
    connections: 32,
    targets: unmetered,
    quick: true,
    stretch: 2,
    leadSeconds: 1,
  },
  {
    id: 'stream-1',
    title: 'fast streams, 1 at a time',
    work: stream,
    targets: strong,
    leadSeconds: 0.5,
    ...oneAtATime,
  },
  {
    id: 'stream-1000',
    title: 'fast streams, 1000 at once',
    work: stream,
    connections: 1000,
    targets: growth,
    isWarm: true,
  },
  {
    id: 'steady-1',
    title: 'streams of 32 frames in step, 1 at a time',
    work: steady,
    connections: 1,
    targets: ['proxy, shape off'],
    stretch: 2,
    isWarm: true,
  },
  {
    id: 'steady-32',
    title: 'streams of 32 frames in step, 32 at once',
    work: steady,
    connections: 32,
    targets: ['proxy, shape off'],
    stretch: 2,
    isWarm: true,
  },
  {
    id: 'steady-1000',
    title: 'streams of 32 frames in step, 1000 at once',
    work: steady,
    connections: 1000,
    targets: ['proxy, shape off'],
    isWarm: true,
  },
  {
    id: 'paced-256',
    title: 'paced streams, 256',
    work: paced,
    connections: 256,
    once: true,
    targets: strong,
  },
  {
    id: 'prompt-10m',
    title: 'prompts of 10 MB, 2 at once',
    work: prompt(10_485_760),
    connections: 2,
    targets: ['direct', 'nginx', 'haproxy', 'proxy', ...parts, 'whole path'],
    quick: true,
    leadSeconds: 0.5,
  },
  {
    id: 'prompt-1m',
    title: 'prompts of 1 MB, 4 at once',
    work: prompt(1_048_576),
    connections: 4,
    targets: oneShape,
  },
  {
    id: 'tls-32',
    title: 'small chat over TLS, 32 at once',
    work: chat,
    connections: 32,
    tls: true,
    targets: ['nginx', 'haproxy', 'proxy'],
  },
  {
    id: 'tls-churn',
    title: 'a new TLS connection for every small chat, 32 at once',
    work: chat,
    connections: 32,
    tls: true,
    churn: true,
    targets: ['nginx', 'haproxy', 'proxy'],
    isWarm: true,
  },
  {
    id: 'chat-256',
    title: 'small chat, 256 at once',
    work: chat,
    connections: 256,
    targets: oneShape,
    isWarm: true,
  },
  {
    id: 'stream-256',
    title: 'fast streams, 256 at once',
    work: stream,
    connections: 256,
    targets: unmetered,
    isWarm: true,
  },
  {
    id: 'prompt-100k',
    title: 'prompts of 100 KB, 8 at once',
    work: prompt(100_000),
    connections: 8,
    targets: ['nginx', 'proxy'],
  },
  {
    id: 'embeddings',
    title: 'embeddings of 256 inputs, 8 at once',
    work: { kind: 'embeddings', inputs: 256 },
    connections: 8,
    targets: oneShape.filter((name) => name !== 'llms'),
  },
  {
    id: 'churn',
    title: 'a new connection for every small chat, 32 at once',
    work: chat,
    connections: 32,
    churn: true,
    targets: oneShape,
    isWarm: true,
  },
  {
    id: 'paced-32',
    title: 'paced streams, 32',
    work: paced,
    connections: 32,
    once: true,
    rounds: 1,
    targets: unmetered.filter(paceable),
  },
]

/** How long one paced stream takes. */
export const pacedSeconds = streamChunks / pacedChunksPerSecond
