/** Writes docs/performance.md and its plots from results, and prints the tables. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { drawBars, short } from '../charts.ts'
import { median } from '../median.ts'
import { root } from './child.ts'
import { formatClients } from './clients.ts'
import { formatGoals, formatOtherRuns, range } from './goal-table.ts'
import { addedMs } from './goals.ts'
import { formatParts } from './part-stages.ts'
import { cpuUsOf, Figures, figureOf, peakMiBOf, type Results } from './results.ts'
import { formatRig } from './rig-table.ts'
import { formatStages } from './stages.ts'
import { mostStolen } from './stolen-time.ts'
import { describeTarget, type TargetName, targetNames } from './target.ts'
import { explainMissed } from './why-missed.ts'
import { oneAtATime, type Workload, workloads } from './workloads.ts'

const folder = join(root, 'docs/performance')
const ownRun = 'results.json'
const isOurs = (name: TargetName) => /^(?:proxy|gateway|worker|whole)/.test(name)
const isDirect = (name: TargetName) => name.startsWith('direct')

export function writeReport(given?: Results, isWhole = true): void {
  const path = join(folder, ownRun)
  if (given === undefined && !existsSync(path))
    throw new Error('there are no results: npm run task -- bench')
  const results = given ?? (JSON.parse(readFileSync(path, 'utf8')) as Results)
  const figures = new Figures(results)
  const goals = [...formatGoals(results), '', ...explainMissed(results)]
  const rows = workloads.flatMap((workload) => formatTable(figures, workload))
  const tables = [
    ...formatRig(figures),
    ...formatClients(results.clients),
    ...targetsDescribed,
    ...rows,
  ]
  console.log(['', ...goals, ...tables].join('\n'))
  if (!isWhole) return
  const stages = [
    ...(results.stages === undefined ? [] : formatStages(results.stages)),
    ...(results.parts === undefined ? [] : formatParts(results.parts)),
  ]
  for (const [name, text] of Object.entries(drawPlots(figures))) {
    writeFileSync(join(folder, name), text)
  }
  const others = formatOtherRuns(folder, ownRun)
  const text = [...introduce(results), ...goals, ...others, ...stages, ...plotsShown, ...tables]
  writeFileSync(join(root, 'docs/performance.md'), `${text.join('\n').trimEnd()}\n`)
  console.log('\nwrote docs/performance.md')
}

const plotsShown = [
  '## Side by side',
  '',
  '![small chat, 32 at once](performance/chat-32.svg)',
  '![streams of 256 chunks, 32 at once](performance/stream-32.svg)',
  '![added latency of a small chat](performance/latency.svg)',
  '',
]

/** On a virtual machine whose host is busy, times say more about the host than about programs. */
function tellStolen({ repeats = 0, samples }: Results): string[] {
  const parts = samples.flatMap(({ stolenPart }) => (stolenPart === undefined ? [] : [stolenPart]))
  if (parts.length === 0) return []
  const percent = (part: number) => `${(part * 100).toFixed(1)}%`
  return [
    `- The host of this machine may give the processor to others. Measurements that lost more than ${mostStolen * 100}% of their time that way were`,
    `  repeated (${repeats} times); of those shown, the median lost ${percent(median(parts))} and the worst ${percent(Math.max(...parts))}.`,
  ]
}

function tellMemory({ machine }: Results): string[] {
  const ns = figureOf(machine.randomReadNs ?? [])
  if (ns === undefined) return []
  const range = `${ns.least.toFixed(0)}–${ns.most.toFixed(0)}`
  return [
    `- A random memory read took ${ns.middle.toFixed(0)} ns (${range}, once before each round). Programs cost more where that is slower: compare`,
    '  microseconds and requests per CPU second only with those of a machine, or of an hour on a shared one, where it is similar.',
  ]
}

/** Nothing if they had no more rounds than others. */
function tellSingles({ samples, rounds, seconds }: Results): string {
  const own = samples.filter(
    ({ workload, target }) => workload === 'chat-1' && target === 'direct',
  ).length
  const text = `, and those with one request at a time have ${own} rounds of ${seconds * oneAtATime.stretch} s`
  return own > rounds ? text : ''
}

function introduce(results: Results): string[] {
  const { machine, versions, skipped, seconds, rounds, minutes, at, note } = results
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return [
    '# Performance',
    '',
    'What encryption costs, compared with gateways that encrypt nothing. `npm run task -- bench` generates this page from',
    '[performance/results.json](performance/results.json); do not edit it.',
    '',
    `Run of ${at} on ${machine.cores} cores (${machine.cpu}), ${minutes} minutes. ${named.join(', ')}.`,
    `${rounds} rounds of ${seconds} s for each load and target; each round runs all loads${tellSingles(results)}. ${
      machine.pinned
        ? 'The programs under test have the first core to themselves, load generator and model server the second.'
        : 'Nothing was pinned to a core.'
    }`,
    '',
    ...(note === undefined ? [] : [`**${note}**`, '']),
    ...tellStolen(results),
    ...tellMemory(results),
    '- **Per CPU second** is requests divided by the CPU time of the programs under test (all threads, from `/proc`). It shows what a core',
    '  can do, hardly changes when the machine is busy, and is the basis of all ratios here. Requests per second of wall-clock time are shown',
    '  next to it; where the rig or a shape sets the pace, they mean less.',
    '- Figures are the median of the rounds, which are minutes apart; a range is the minimum and the maximum. Ratios are taken within a round.',
    '  With an even number of rounds, goals are judged by the worse of the two medians. Goals without a unit are requests per CPU second of our programs.',
    '  A goal called next follows one that was reached before.',
    '- The long run is measured: runtimes that compile get load before the first round until they hardly compile any more.',
    '  Rounds of small chats, of single streams and of 10 MB prompts start with half a second of load that does not count, rounds of 32 fast',
    '  streams with a second.',
    '- **Added** latency is what a request takes beyond the same request sent directly to the model server; for the gateway alone, beyond the',
    '  same sealed request sent directly to the backend behind it. Rows that begin with “direct” show their own latency, in parentheses.',
    '- The proxy alone talks to a backend that attests, opens and seals like gateway and worker in one.',
    '- Streams have 256 chunks. Fast ones come eight chunks at a time, paced ones at 50 chunks a second. Those in step come eight chunks at a',
    '  time with as many pauses as there are streams, in 32 frames at any number of streams: their costs can be compared across numbers,',
    '  unlike those of fast ones, since chunks within a millisecond share a frame. They exclude the cost of connecting.',
    '- The worker requests whole answers from the model server as streams too, so that an aborted one bills what was generated: for a small',
    '  chat on the whole path it reads 256 chunks with counts and joins them, where all others read one answer of 1 KB. With tools it',
    '  requests one answer, too.',
    '- Start and idle memory are those of the released binary, the mapped part of its 100 MB included. Programs under load run from source.',
    '- The gateway alone meters nothing, since the backend behind it reports no usage. On the whole path it checks the signature of each',
    '  report and books it in the embedded database, which runs on a thread of its process and counts. The metered gateway does the same',
    '  behind a backend that signs and reports usage as a worker does. The last report is booked before the CPU time is read. With',
    "  PostgreSQL, the server's own CPU time is shown, but does not count; it runs on the second core and does not flush to disk (`fsync=off`).",
    ...skipped.map(({ name, why }) => `- **${name} was skipped**: ${why}.`),
    '',
  ]
}

function formatTable(figures: Figures, workload: Workload): string[] {
  const { id, title } = workload
  const present = targetNames.filter((name) => figures.of(id, name).length > 0)
  if (present.length === 0) return []
  const perCpu = (sample: { perCpuSecond: number }) => sample.perCpuSecond
  const rows = present.map((name) => {
    const samples = figures.of(id, name)
    const ratio = (other: TargetName) =>
      isDirect(name) ? '–' : range(figures.ratio(id, name, other, perCpu))
    const failed = samples.reduce((sum, { failures }) => sum + failures, 0)
    return [
      failed === 0 ? name : `${name} (${failed} failed)`,
      short(figures.figure(id, name, (sample) => sample.perSecond)?.middle ?? 0),
      short(figures.figure(id, name, perCpu)?.middle ?? 0),
      ratio('nginx'),
      ratio('portkey'),
      ...['p50', 'p99'].map((part) => latency(figures, workload, name, part as 'p50' | 'p99')),
      costs(figures, workload, name),
    ].join(' | ')
  })
  return [
    `### ${title[0]?.toUpperCase()}${title.slice(1)}`,
    '',
    `| | per second | per CPU second | × nginx | × Portkey | ${latencyTitle(workload)} p50 ms | p99 ms | CPU µs and peak MiB |`,
    '|---|---|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
    '',
  ]
}

/** Streams: the time to the first token; paced ones: how late their chunks are. */
function latencyTitle({ work }: Workload): string {
  switch (work.kind) {
    case 'stream':
    case 'steady-stream':
      return 'added to the first token,'
    case 'paced-stream':
      return "a chunk's added delay,"
    case 'chat':
    case 'embeddings':
      return 'added'
  }
}

function latency(
  figures: Figures,
  { id, work }: Workload,
  name: TargetName,
  part: 'p50' | 'p99',
): string {
  const read = (sample: ReturnType<Figures['of']>[number]) => {
    if (work.kind === 'stream' || work.kind === 'steady-stream') return sample.firstByteUs[part]
    if (work.kind === 'paced-stream') return sample.chunkDelayUs[part]
    return sample.latencyUs[part]
  }
  if (isDirect(name)) {
    const own = figures.figure(id, name, read)
    return own === undefined ? '–' : `(${short(own.middle / 1000)})`
  }
  const added = addedMs(figures, id, name, read)
  return added === undefined ? '–' : short(added.middle)
}

function costs(figures: Figures, { id }: Workload, name: TargetName): string {
  const parts = figures.of(id, name)[0]?.parts ?? []
  return parts
    .map((part) => {
      const cpu = figures.figure(id, name, cpuUsOf(part.name))?.middle ?? 0
      const peak = figureOf(figures.of(id, name).map(peakMiBOf(part.name)))?.most ?? 0
      const costs = `${short(cpu)} µs, ${peak.toFixed(0)} MiB`
      return parts.length === 1 ? costs : `${part.name} ${costs}`
    })
    .join('; ')
}

function drawPlots(figures: Figures): Record<string, string> {
  const bars = (id: Workload['id'], read: Parameters<Figures['figure']>[2], scale = 1) =>
    targetNames
      .filter((name) => !isDirect(name))
      .flatMap((label) => {
        const figure = figures.figure(id, label, read)
        if (figure === undefined) return []
        const [value, least, most] = [figure.middle, figure.least, figure.most].map(
          (one) => one * scale,
        ) as [number, number, number]
        return [{ label, value, least, most, isOurs: isOurs(label) }]
      })
  const unit = 'per CPU second'
  const perCpu = (sample: { perCpuSecond: number }) => sample.perCpuSecond
  return {
    'chat-32.svg': drawBars('Small chats, 32 at once', unit, bars('chat-32', perCpu)),
    'stream-32.svg': drawBars('Streams of 256 chunks, 32 at once', unit, bars('stream-32', perCpu)),
    'latency.svg': drawBars(
      'A small chat alone, p50',
      'ms',
      bars('chat-1', (sample) => sample.latencyUs.p50, 0.001),
    ),
  }
}

const targetsDescribed = [
  '## Every target under every load',
  '',
  ...targetNames.map((name) => `- **${name}**: ${describeTarget[name]}`),
  '',
]
