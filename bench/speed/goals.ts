/** The goals, and whether a run reached them. */
import { cpuUsOf, type Figure, type Figures, figureOf, peakMiBOf, type Results } from './results.ts'
import type { TargetName } from './target.ts'
import type { WorkloadId } from './workloads.ts'

/** The topic of a goal, which decides how a miss is explained. */
export type GoalTopic =
  | { readonly kind: 'per-cpu'; readonly workload: WorkloadId; readonly target: TargetName }
  | { readonly kind: 'tail' }
  | { readonly kind: 'first-token' }
  | { readonly kind: 'two-cores' }
  | { readonly kind: 'stream-growth' }
  | { readonly kind: 'parts'; readonly workload: WorkloadId; readonly target: TargetName }
  | { readonly kind: 'other' }

export type Goal = {
  readonly topic: GoalTopic
  readonly measure: string
  readonly goal: string
  readonly figure: Figure | undefined
  readonly unit: string
  readonly isReached: boolean | undefined
  /** Whether it was reached even in the least favourable round. */
  readonly isAlwaysReached: boolean | undefined
}

type MoreResults = Pick<Results, 'twoCores' | 'clients' | 'footprint'>

export function judgeGoals(figures: Figures, more: MoreResults): Goal[] {
  const { twoCores, clients, footprint } = more
  const perCpu = (sample: { perCpuSecond: number }) => sample.perCpuSecond
  const other: GoalTopic = { kind: 'other' }
  const atLeast = (
    measure: string,
    least: number,
    figure: Figure | undefined,
    topic: GoalTopic = other,
    unit = '×',
  ): Goal => {
    const worse = figure && { ...figure, middle: figure.lowerMiddle ?? figure.middle }
    return {
      topic,
      measure,
      goal: `≥ ${least} ${unit}`.trimEnd(),
      figure: worse,
      unit,
      isReached: worse && worse.middle >= least,
      isAlwaysReached: worse && worse.least >= least,
    }
  }
  const atMost = (
    measure: string,
    most: number,
    unit: string,
    figure: Figure | undefined,
    topic: GoalTopic = other,
  ): Goal => ({
    topic,
    measure,
    goal: `≤ ${most} ${unit}`,
    figure,
    unit,
    isReached: figure && figure.middle <= most,
    isAlwaysReached: figure && figure.most <= most,
  })
  /** Requests per CPU second of all our programs that take part. */
  const rate = (measure: string, least: number, workload: WorkloadId, target: TargetName) =>
    atLeast(
      ...([measure, least, figures.figure(workload, target, perCpu)] as const),
      ...([{ kind: 'parts', workload, target }, ''] as const),
    )
  const against = (
    measure: string,
    least: number,
    workload: WorkloadId,
    target: TargetName,
    peer: TargetName,
  ) =>
    atLeast(measure, least, figures.ratio(workload, target, peer, perCpu), {
      ...{ kind: 'per-cpu', workload, target },
    })
  const added = (
    workload: WorkloadId,
    target: TargetName,
    read: Parameters<Figures['figure']>[2],
  ) => addedMs(figures, workload, target, read)

  return [
    against('small chat, 32 at once, against Portkey', 10, 'chat-32', 'proxy', 'portkey'),
    against('small chat, 32 at once, against nginx', 0.2, 'chat-32', 'proxy', 'nginx'),
    against('streams, 32 at once, against Portkey', 4, 'stream-32', 'proxy', 'portkey'),
    against('streams, 32 at once, against nginx', 0.2, 'stream-32', 'proxy', 'nginx'),
    against(
      ...(['streams, 32 at once, shape off, against Portkey', 4] as const),
      ...(['stream-32', 'proxy, shape off', 'portkey'] as const),
    ),
    against(
      ...(['streams, 32 at once, shape off, against nginx', 0.2] as const),
      ...(['stream-32', 'proxy, shape off', 'nginx'] as const),
    ),
    atMost(
      'added latency, 1 at a time, p50, proxy alone',
      0.25,
      'ms',
      added('chat-1', 'proxy', (sample) => sample.latencyUs.p50),
    ),
    atMost(
      'added latency, 1 at a time, p99, proxy alone',
      1.5,
      'ms',
      added('chat-1', 'proxy', (sample) => sample.latencyUs.p99),
      { kind: 'tail' },
    ),
    atMost(
      'added time to first token, whole path, shape off',
      1,
      'ms',
      added('stream-1', 'whole path, shape off', (sample) => sample.firstByteUs.p50),
      { kind: 'first-token' },
    ),
    atMost(
      'added time to first token, whole path, shape default',
      30,
      'ms',
      added('stream-1', 'whole path', (sample) => sample.firstByteUs.p50),
      { kind: 'first-token' },
    ),
    against('prompts of 10 MB against nginx', 0.5, 'prompt-10m', 'proxy', 'nginx'),
    atMost(
      'peak memory for a prompt of 10 MB beyond small ones, in bodies',
      4,
      '×',
      bodiesHeld(figures),
    ),
    atMost(
      '256 paced streams, chunk delay p99 beyond direct, shape off',
      20,
      'ms',
      added('paced-256', 'proxy, shape off', (sample) => sample.chunkDelayUs.p99),
    ),
    atMost(
      '256 paced streams, memory of the proxy, shape off',
      100,
      'MiB',
      figures.figure('paced-256', 'proxy, shape off', peakMiBOf('proxy')),
    ),
    atLeast(
      'throughput on two cores against one',
      1.7,
      twoCores && figureOf([twoCores.two.perBusiest / twoCores.one.perBusiest]),
      { kind: 'two-cores' },
    ),
    atMost(
      'CPU per byte beyond the fixed cost, 10 MB against 1 MB',
      1.25,
      '×',
      byteGrowth(figures),
    ),
    atMost(
      'CPU per stream, 1000 at once against the cheaper of 1 and 32',
      1.25,
      '×',
      streamGrowth(figures),
      { kind: 'stream-growth' },
    ),
    against('small chat, 32 at once, against nginx, next', 0.4, 'chat-32', 'proxy', 'nginx'),
    against('streams, 32 at once, against nginx, next', 0.35, 'stream-32', 'proxy', 'nginx'),
    against('prompts of 10 MB against nginx, next', 0.65, 'prompt-10m', 'proxy', 'nginx'),
    atMost(
      'added latency, 1 at a time, p99, proxy alone, next',
      0.6,
      'ms',
      added('chat-1', 'proxy', (sample) => sample.latencyUs.p99),
      { kind: 'tail' },
    ),
    atMost(
      'CPU per stream, 1000 at once against the cheaper of 1 and 32, next',
      1.15,
      '×',
      streamGrowth(figures),
      { kind: 'stream-growth' },
    ),
    atMost('SDK, small chat, 32 at once, CPU of the client', 200, 'µs', sdkCpuUs(clients)),
    atMost(
      ...(['start of the proxy to its first verified answer', 120, 'ms'] as const),
      footprint && figureOf(footprint.firstAnswerMs),
    ),
    atMost('memory of an idle proxy', 45, 'MiB', footprint && figureOf(footprint.idleMiB)),
    rate('worker, small chat, 32 at once', 4000, 'chat-32', 'worker'),
    rate('worker, small chat with tools, 32 at once', 8000, 'tools-32', 'worker'),
    rate('worker, streams, 32 at once', 1200, 'stream-32', 'worker'),
    rate('worker, prompts of 10 MB', 45, 'prompt-10m', 'worker'),
    rate(
      'gateway, small chat, 32 at once, metered in PostgreSQL',
      15_000,
      'chat-32',
      'gateway, PostgreSQL',
    ),
    rate(
      'gateway, small chat, 32 at once, metered in the embedded database',
      5000,
      'chat-32',
      'gateway, metered',
    ),
    rate('whole path, small chat, 32 at once', 3000, 'chat-32', 'whole path'),
    atLeast(
      'whole path, small chat, 32 at once, against Portkey',
      6,
      figures.ratio('chat-32', 'whole path', 'portkey', perCpu),
      { kind: 'parts', workload: 'chat-32', target: 'whole path' },
    ),
    rate(
      ...(['whole path, streams, 32 at once, shape off', 1500] as const),
      ...(['stream-32', 'whole path, shape off'] as const),
    ),
    rate('whole path, streams, 32 at once', 700, 'stream-32', 'whole path'),
    rate('whole path, prompts of 10 MB', 30, 'prompt-10m', 'whole path'),
    atMost(
      'added latency, 1 at a time, p99, whole path',
      3,
      'ms',
      added('chat-1', 'whole path', (sample) => sample.latencyUs.p99),
      { kind: 'parts', workload: 'chat-1', target: 'whole path' },
    ),
  ]
}

/** Of an application with OpenAI's SDK and our `fetch`, both counted. */
function sdkCpuUs(clients: Results['clients']): Figure | undefined {
  const row = clients?.find(
    ({ client, stream, atOnce }) => client === 'with our fetch' && !stream && atOnce === 32,
  )
  return row && figureOf([(row.cpuSeconds * 1e6) / Math.max(1, row.requests)])
}

/** Beyond what the same request takes without anything in between; a gateway alone has its worker behind it. */
export function addedMs(
  figures: Figures,
  workload: WorkloadId,
  target: TargetName,
  read: Parameters<Figures['figure']>[2],
): Figure | undefined {
  const direct = figures.figure(
    workload,
    target.startsWith('gateway') ? 'direct, sealed' : 'direct',
    read,
  )
  const through = figures.figure(workload, target, read)
  if (direct === undefined || through === undefined) return undefined
  const ms = (us: number) => (us - direct.middle) / 1000
  return { middle: ms(through.middle), least: ms(through.least), most: ms(through.most) }
}

/** Two prompts are in flight at once; memory that the proxy holds for small requests does not count. */
function bodiesHeld(figures: Figures): Figure | undefined {
  const small = figures.figure('chat-32', 'proxy', peakMiBOf('proxy'))
  const large = figures.figure('prompt-10m', 'proxy', peakMiBOf('proxy'))
  if (small === undefined || large === undefined) return undefined
  const bodies = (mib: number) => (mib - small.middle) / 20
  return { middle: bodies(large.middle), least: bodies(large.least), most: bodies(large.most) }
}

/** What a byte costs beyond the fixed cost. */
function byteGrowth(figures: Figures): Figure | undefined {
  const cpu = (workload: WorkloadId) => figures.figure(workload, 'proxy', cpuUsOf('proxy'))?.middle
  const [fixed, mid, large] = [cpu('chat-32'), cpu('prompt-1m'), cpu('prompt-10m')]
  if (fixed === undefined || mid === undefined || large === undefined) return undefined
  const perByte = (us: number, bytes: number) => (us - fixed) / (bytes - 1024)
  return figureOf([perByte(large, 10_485_760) / perByte(mid, 1_048_576)])
}

/**
 * For streams that arrive in the same frames at any number, so that growth is the cost of the number.
 * Fast streams are unsuitable. Chunks that arrive within a millisecond share a frame, so a lone stream
 * arrives in a few frames, and one among a thousand, whose chunks are further apart, in many.
 * As a check, a list of all streams was scanned for every frame, and it showed: 1.65 ×.
 */
function streamGrowth(figures: Figures): Figure | undefined {
  const cpu = (workload: WorkloadId) =>
    figures.figure(workload, 'proxy, shape off', cpuUsOf('proxy'))
  // A lone stream wakes the proxy for each of its frames, which is not what is measured here.
  const few = [cpu('steady-1'), cpu('steady-32')].flatMap((one) => one?.middle ?? [])
  const many = cpu('steady-1000')
  if (few.length === 0 || many === undefined) return undefined
  const least = Math.min(...few)
  return { middle: many.middle / least, least: many.least / least, most: many.most / least }
}
