/** Writes docs/traffic-shape.md and its plot from the results of the study. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fitToPace, type StreamShape, shapeOf } from '../../apps/worker/src/sealed/traffic-shape.ts'
import { drawDots } from '../charts.ts'
import { type LengthLeak, lengthCurve, lengthLeak } from './length-curve.ts'
import {
  curveChoice,
  curveText,
  introduction,
  processorText,
  remains,
  speedText,
  wireFigures,
  wireOthers,
  wireText,
} from './report-text.ts'
import type {
  Interval,
  Judged,
  Recording,
  Results,
  SetResult,
  WireCell,
  WireResult,
} from './results.ts'

const modes = ['off', 'default', 'strict'] as const

export function writeReport(results: Results, folder: string): void {
  writeFileSync(join(folder, 'traffic-shape.md'), formatReport(results))
  if (results.scripted !== undefined) {
    writeFileSync(join(folder, 'traffic-shape.svg'), plotTopics(results.scripted))
  }
}

/** How well each topic was recognised, by the better of two classifiers. */
function plotTopics(set: SetResult): string {
  const colours = { off: '#b3261e', default: '#1f5fbf', strict: '#1a7f37' }
  const rows = (set.off?.topics.trees.topics ?? []).map(({ topic }) => ({
    label: topic,
    values: Object.fromEntries(
      modes.flatMap((mode) => {
        const result = set[mode]?.topics
        if (result === undefined) return []
        return [[mode, Math.max(areaOf(result.trees, topic), areaOf(result.network, topic))]]
      }),
    ),
  }))
  return drawDots(
    'Area under the precision-recall curve for each topic, better of two classifiers',
    colours,
    rows,
    { label: 'base rate', value: set.off?.topics.baseRate ?? 0 },
  )
}

const areaOf = (judged: Judged, name: string) =>
  judged.topics.find(({ topic }) => topic === name)?.area ?? 0

export function formatReport({ note, recording, scripted = {}, embedded, wire }: Results): string {
  const parts = [introduction, curveText, curveTable(), curveChoice, speedText, speedTable()]
  if (wire !== undefined) parts.push(wireText, wireLine(wire), wireTables(wire))
  parts.push('## Conversations, frame by frame\n')
  if (note !== undefined) parts.push(`**${note}**\n`)
  if (recording !== undefined) parts.push(recordingLine(recording, scripted))
  parts.push('### Topics\n', topicsTable(scripted))
  const bill = scripted.off?.topics.bill
  if (bill !== undefined) {
    parts.push(
      `The token counts of the bill, which the gateway receives in every shape, give ${shown(bill)} on their own.\n`,
    )
  }
  parts.push('![area under the curve for each topic](traffic-shape.svg)\n')
  parts.push('### Lengths of tokens\n', tokensTable(scripted))
  parts.push('### Cost\n', costTable(scripted))
  if (embedded !== undefined) {
    parts.push("### The embedded model's own answers\n", topicsTable(embedded))
    parts.push(tokensTable(embedded))
  }
  parts.push(remains, '## Each topic\n', eachTopic(scripted))
  return parts.join('\n')
}

function wireLine(wire: WireResult): string {
  const { at, note, load, perTopic, concurrency, slowdown, cells, again } = wire
  const calls = cells.reduce((sum, { samples }) => sum + samples, 0)
  return (
    `Recorded on ${at.slice(0, 10)}: ${calls} calls in random order, ${concurrency} at a time; up to ${perTopic} answers of each topic in a ` +
    `row of the first table. The machine (two cores) also had other work: its load was ${load.mean.toFixed(0)} ` +
    `(${load.low.toFixed(0)}–${load.high.toFixed(0)}), unshaped answers took ${slowdown.toFixed(2)} × as long as scripted.${again === undefined ? '' : `\n${againLine(again)}`}${note === undefined ? '' : ` ${note}`}\n`
  )
}

function againLine({ perTopic, load, rows }: NonNullable<WireResult['again']>): string {
  const sets = new Set(rows.map((row) => row.replace(/ (sealed|proxyless) .*/, '')))
  return (
    `\n${rows.length} rows (${[...sets].join(', ')}) were recorded again with up to ${perTopic} answers of each topic, ` +
    `at a load of ${load.mean.toFixed(0)}.`
  )
}

/** What the goals say about each row of the main table. */
function goalTable({ cells }: WireResult): string {
  const rows = mainCells(cells)
    .filter(({ shape }) => shape !== 'off')
    .map(({ kind, leg, shape, ...cell }) => {
      const { trees, forest, logistic } = cell.topics
      const best = [trees, forest, logistic].reduce((a, b) => (b.mean > a.mean ? b : a))
      const above = best.mean - cell.baseRate
      const isAtChance = best.mean <= cell.chance
      const areTopicsHidden = shape === 'default' ? above <= 0.1 : isAtChance
      const limit = shape === 'default' ? 0.5 : 0.1
      return [
        ...[kind === 'stream' ? 'stream' : 'not streamed', legNames[leg], shape],
        `${above.toFixed(3)}${isAtChance ? ', at chance' : ''}`,
        areTopicsHidden ? 'reached' : '**missed**',
        shown(cell.tokens),
        cell.tokens.mean <= limit ? 'reached' : '**missed**',
      ]
    })
  return table(
    [
      ...['answers', 'leg', 'shape', 'topics: best classifier above the base rate'],
      ...['goal (0.1, strict: chance)', 'R² of tokens', 'goal (0.5, strict: 0.1)'],
    ],
    rows,
  )
}

function mainCells(cells: readonly WireCell[]): WireCell[] {
  const order = ({ leg, kind, shape }: WireCell) =>
    [leg === 'sealed' ? 0 : 1, kind === 'stream' ? 0 : 1, modes.indexOf(shape)].join('')
  const main = cells.filter(({ set }) => set === 'main')
  return main.sort((a, b) => order(a).localeCompare(order(b)))
}

function processorTable(costs: NonNullable<WireResult['costs']>): string {
  const ms = (value: number) => value.toFixed(0)
  const rows = modes.map((mode) => {
    const { proxy, gateway, worker } = costs[mode]
    return [mode, ms(proxy), ms(gateway), ms(worker)]
  })
  return table(['shape', 'proxy, ms', 'gateway, ms', 'worker, ms'], rows)
}

function wireTables(wire: WireResult): string {
  const { cells } = wire
  const others = cells.filter(({ set }) => set !== 'main')
  return [
    goalTable(wire),
    wireFigures,
    wireTable(mainCells(cells), false),
    wireOthers,
    wireTable(others, true),
    ...(wire.costs === undefined ? [] : [processorText, processorTable(wire.costs)]),
  ].join('\n')
}

function wireTable(cells: readonly WireCell[], named: boolean): string {
  const rows = cells.map(({ set, leg, kind, shape, ...cell }) => {
    const { trees, forest, logistic } = cell.topics
    const { area, explained } = cell.byLengthClass
    return [
      ...(named ? [set] : [kind === 'stream' ? 'stream' : 'not streamed']),
      ...[
        legNames[leg],
        shape,
        cell.samples,
        `${cell.baseRate.toFixed(3)}, ${cell.blind.toFixed(3)}`,
      ],
      ...[shown(trees), shown(forest), shown(logistic), area.toFixed(3)],
      ...[shown(cell.tokens), explained.toFixed(2), cell.resets],
      ...[kib(cell.downBytes), seconds(cell.wireMs), seconds(cell.totalMs)],
    ]
  })
  return table(
    [
      ...[named ? 'study' : 'answers', 'leg', 'shape', 'number', 'base rate, blind guesses'],
      ...['boosted trees', 'random forest', 'logistic regression', 'length class alone'],
      ...['R²', 'R² by length class alone', 'cut', 'KiB', 'on the wire, s', 'application waits, s'],
    ],
    rows,
  )
}

const legNames = { sealed: 'proxy to gateway', proxyless: 'client to proxyless' }

function recordingLine(recording: Recording, scripted: SetResult): string {
  const { startedAt, minutes, cores, loadBefore, loadAfter, seed } = recording
  const slowdown = scripted.off?.costs.slowdown
  const kept =
    slowdown === undefined ? '' : `, answers ${slowdown.toFixed(2)} × as long as scripted`
  return (
    `Recorded on ${startedAt.slice(0, 10)} in ${minutes} minutes with seed ${seed}: ${cores} ${cores === 1 ? 'core' : 'cores'}, load ` +
    `${loadBefore} before and ${loadAfter} at the end${kept} (off).\n`
  )
}

function curveTable(): string {
  const row = ({ leastSeconds, growth, randomShare, ...leak }: LengthLeak) => [
    `${leastSeconds} s`,
    randomShare === undefined ? growth : `${growth}, and the next one by chance (${randomShare})`,
    ...[leak.areaAboveBase.toFixed(3), leak.worstTopic.toFixed(2)],
    ...[leak.explained.toFixed(2), leak.meanSeconds.toFixed(1), Math.round(leak.meanSeconds * 25)],
  ]
  const curve = lengthCurve({ topics: 7, tokensPerSecond: 50 })
  return table(
    [
      ...['shortest', 'growth', 'topics, above the base rate', 'worst topic (base 0.14)'],
      ...['explained', 'mean s on the wire', 'KiB'],
    ],
    curve.map(row),
  )
}

/** The chosen lengths with engines of other speeds. */
function speedTable(): string {
  const rows = [10, 25, 50, 100].map((tokensPerSecond) => {
    const cells = (['default', 'strict'] as const).flatMap((name) => {
      const stream = fitToPace(shapeOf(name).stream as StreamShape, 1000 / tokensPerSecond)
      const leastSeconds = ((stream.leastUnits / stream.unitsPerTick) * stream.tickMs) / 1000
      const choice = { leastSeconds, growth: stream.growth }
      const { areaAboveBase, explained } = lengthLeak({ topics: 7, tokensPerSecond }, choice)
      return [`${leastSeconds.toFixed(0)} s`, areaAboveBase.toFixed(3), explained.toFixed(2)]
    })
    return [tokensPerSecond, ...cells]
  })
  return table(
    [
      'tokens a second',
      ...['default: shortest', 'topics, above the base rate', 'explained'],
      ...['strict: shortest', 'topics, above the base rate', 'explained'],
    ],
    rows,
  )
}

const resultsOf = (set: SetResult) =>
  modes.flatMap((mode) => {
    const result = set[mode]
    return result === undefined ? [] : [{ mode, ...result }]
  })

export const shown = ({ mean, low, high }: Interval) =>
  `${mean.toFixed(3)} (${low.toFixed(3)}–${high.toFixed(3)})`

function topicsTable(set: SetResult): string {
  const rows = resultsOf(set).map(({ mode, topics }) => {
    const { trees, network, baseRate, chance, conversations } = topics
    const best = Math.max(trees.mean, network.mean)
    return [
      mode,
      ...[conversations, baseRate.toFixed(3), chance.mean.toFixed(3)],
      ...[shown(trees), shown(network), (best - baseRate).toFixed(3)],
      above(trees.mean > network.mean ? trees : network),
      worst([trees, network]),
    ]
  })
  return table(
    [
      'shape',
      'conversations',
      'base rate',
      'blind guesses',
      'boosted trees',
      'network',
      'best, above the base rate',
      'above blind guesses',
      'worst topic',
    ],
    rows,
  )
}

/** If the lower end is below zero, blind guesses do as well. */
function above({ aboveChance }: Judged): string {
  if (aboveChance === undefined) return ''
  return `${shown(aboveChance)}${aboveChance.low <= 0 ? ', at chance' : ''}`
}

function worst(judged: readonly Judged[]): string {
  const all = judged.flatMap(({ topics }) => topics)
  const top = all.reduce((a, b) => (b.area > a.area ? b : a))
  return `${top.topic} ${top.area.toFixed(2)}`
}

function tokensTable(set: SetResult): string {
  const rows = resultsOf(set).map(({ mode, tokens }) => [
    ...[mode, tokens.tokens, shown(tokens.accuracy), shown(tokens.blind), shown(tokens.constant)],
    shown(tokens.gain),
  ])
  return table(
    ['shape', 'tokens', 'guessed right', 'without frames', 'always the same', 'gain by frames'],
    rows,
  )
}

function costTable(set: SetResult): string {
  const off = set.off?.costs
  const rows = resultsOf(set).map(({ mode, costs }) => [
    ...[mode, kib(costs.upBytes), kib(costs.downBytes)],
    ratio(costs.downBytes, off?.downBytes),
    added(costs.firstTokenMs, off?.firstTokenMs),
    ...[seconds(costs.totalMs), seconds(costs.wireMs)],
    `${costs.frameCounts.kinds} (${costs.frameCounts.bits.toFixed(1)} bits)`,
    `${costs.requestLengths.kinds} (${costs.requestLengths.bits.toFixed(1)} bits)`,
  ])
  return table(
    [
      'shape',
      'request, KiB',
      'answer, KiB',
      'against off',
      'first token, added ms',
      'application waits, s',
      'on the wire, s',
      'numbers of frames seen',
      'lengths of requests seen',
    ],
    rows,
  )
}

const kib = (bytes: number) => (bytes / 1024).toFixed(1)
const seconds = (ms: number) => (ms / 1000).toFixed(1)
const ratio = (value: number, base: number | undefined) =>
  base === undefined ? '' : `${(value / base).toFixed(1)} ×`
const added = (value: number, base: number | undefined) =>
  base === undefined ? '' : (value - base).toFixed(0)

function eachTopic(set: SetResult): string {
  const results = resultsOf(set)
  const names = (results[0]?.topics.trees.topics ?? []).map(({ topic }) => topic)
  const areaOf = (judged: Judged, name: string) =>
    judged.topics.find(({ topic }) => topic === name)?.area ?? 0
  const rows = names.map((name) => [
    name,
    ...results.flatMap(({ topics }) => [
      areaOf(topics.trees, name).toFixed(2),
      areaOf(topics.network, name).toFixed(2),
    ]),
  ])
  const heads = results.flatMap(({ mode }) => [`${mode}, trees`, `${mode}, network`])
  return table(['topic', ...heads], rows)
}

function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return `${[line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')}\n`
}
