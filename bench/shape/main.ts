/**
 * `npm run task -- study:shape`: what the shape of sealed traffic tells a watcher, and what hiding it costs.
 *
 * Plays conversations through the whole system for each traffic shape, records sizes and times of
 * all frames between proxy and gateway, lets classifiers guess from them, and writes
 * docs/traffic-shape.md. See there for what the figures mean. `--record FOLDER` only records, which
 * wants a quiet machine; `--train FOLDER` does the rest, whenever and wherever there is time.
 * `--wire FOLDER` is the study of both legs with the official clients: packets instead of frames.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseTaskArguments } from '../../scripts/task-arguments.ts'
import { preparePython } from './python-environment.ts'
import { type RecordOptions, recordAll } from './record-all.ts'
import { recordWire } from './record-wire.ts'
import { writeReport } from './report.ts'
import type { Recording, Results, WireCell, WireResult } from './results.ts'
import { topics } from './topics.ts'

const root = join(import.meta.dir, '../..')
const cache = join(root, 'node_modules/.cache/privatemode-shape')
const resultsPath = join(import.meta.dir, 'results.json')

const { values: options } = parseTaskArguments({
  options: {
    /** How many conversations are played in each mode. */
    conversations: { type: 'string', default: '1200' },
    /** How many at a time, thrice as many if strict; more than the machine can play in time blurs it. */
    concurrency: { type: 'string', default: '28' },
    seed: { type: 'string', default: '1' },
    /** Answers of the embedded model for each topic, played in the same way; 0 leaves them out. */
    embedded: { type: 'string', default: '10' },
    /** Only record, into this folder. */
    record: { type: 'string' },
    /** Only train and judge, on what this folder has, and write the document. */
    train: { type: 'string' },
    /** Only the study of packets on both legs, recorded into this folder. */
    wire: { type: 'string' },
    /** For it: answers of each of 7 topics in each row of the main table. */
    perTopic: { type: 'string', default: '45' },
    /** For it: only rows whose set, leg, kind and shape match this pattern; they replace those of the last results. */
    rows: { type: 'string' },
    /** For it: no call is begun that would be over later; the next time goes on where this one stopped. */
    minutes: { type: 'string', default: '600' },
    /** For it: first measure what a processor has to do for an answer, while nothing else is asked. */
    cost: { type: 'boolean', default: false },
    /** For it: judge what was recorded, though it is not all. */
    judge: { type: 'boolean', default: false },
    /** Only write the document, from the results of the last training. */
    report: { type: 'boolean', default: false },
  },
})

/** Fewer could not be judged: each topic must be in all folds and in what training sets aside. */
const leastPerTopic = 10

let isUnfinished = false
if (options.wire !== undefined) isUnfinished = !(await studyWire(options.wire))
else if (options.record !== undefined) await record(options.record)
else if (options.train !== undefined) await trainAll(options.train)
else if (!options.report) {
  const folder = join(cache, 'recording')
  await record(folder)
  await trainAll(folder)
}
if (!isUnfinished && options.record === undefined) writeReport(readResults(), join(root, 'docs'))

async function record(folder: string): Promise<void> {
  const wanted: RecordOptions = {
    folder,
    conversations: Number(options.conversations),
    embeddedPerTopic: Number(options.embedded),
    concurrency: Number(options.concurrency),
    seed: Number(options.seed),
  }
  const { conversations, embeddedPerTopic } = wanted
  const isEnough = (perTopic: number) => perTopic >= leastPerTopic
  if (
    !isEnough(conversations / topics.length) ||
    !(embeddedPerTopic === 0 || isEnough(embeddedPerTopic))
  ) {
    throw new RangeError(
      `each topic needs ${leastPerTopic} conversations, there are ${topics.length}`,
    )
  }
  await recordAll(wanted)
}

/**
 * Records what the folder has not yet, then judges; the figures are kept beside those of the frames. Returns
 * whether it could: there may be more to record.
 */
async function studyWire(folder: string): Promise<boolean> {
  mkdirSync(folder, { recursive: true })
  const at = (name: string) => join(folder, name)
  const facts = {
    perTopic: Number(options.perTopic),
    concurrency: Number(options.concurrency),
    seed: Number(options.seed),
  }
  if (!options.judge) {
    const minutes = Number(options.minutes)
    const paths = { path: at('wire.jsonl'), costPath: at('cost.json') }
    const rows = new RegExp(options.rows ?? '')
    const left = await recordWire({
      ...{ ...facts, ...paths, rows, minutes, measuresCost: options.cost },
    })
    if (left > 0) {
      console.log('run it again to record the rest, or with --judge to judge what there is')
      return false
    }
  }
  await attack('wire_attack.py', [at('wire.jsonl'), at('wire-judged.json')])
  const read = (name: string) => JSON.parse(readFileSync(at(name), 'utf8'))
  const results = readResults()
  const recorded = {
    ...{ ...facts, at: statSync(at('wire.jsonl')).mtime.toISOString() },
    ...(existsSync(at('cost.json')) ? { costs: read('cost.json') } : {}),
    ...read('wire-judged.json'),
  }
  const wire =
    options.rows === undefined || results.wire === undefined
      ? recorded
      : withRows(results.wire, recorded)
  writeFileSync(resultsPath, `${JSON.stringify({ ...results, wire }, null, 2)}\n`)
  return true
}

/** Rows that were recorded again, in place of those before. */
function withRows(wire: WireResult, again: WireResult): WireResult {
  const name = ({ set, leg, kind, shape }: WireCell) => `${set} ${leg} ${kind} ${shape}`
  const newer = new Map(again.cells.map((cell) => [name(cell), cell]))
  return {
    ...wire,
    ...(again.costs === undefined ? {} : { costs: again.costs }),
    again: { at: again.at, perTopic: again.perTopic, load: again.load, rows: [...newer.keys()] },
    cells: wire.cells.map((cell) => newer.get(name(cell)) ?? cell),
  }
}

/** What is not in the folder keeps no result: figures of two recordings would not belong together. */
async function trainAll(folder: string): Promise<void> {
  const recording = JSON.parse(readFileSync(join(folder, 'recording.json'), 'utf8')) as Recording
  const { wire } = readResults()
  let results: Results = { recording, ...(wire === undefined ? {} : { wire }) }
  for (const set of ['scripted', 'embedded'] as const) {
    const observedPath = join(folder, `${set}.jsonl`)
    if (!existsSync(observedPath)) continue
    results = { ...results, [set]: await train(observedPath, join(folder, `${set}-judged.json`)) }
  }
  writeFileSync(resultsPath, `${JSON.stringify(results, null, 2)}\n`)
}

async function train(observedPath: string, judgedPath: string): Promise<unknown> {
  await attack('main.py', [observedPath, judgedPath, 'off', 'default', 'strict'])
  return JSON.parse(readFileSync(judgedPath, 'utf8'))
}

async function attack(name: string, args: readonly string[]): Promise<void> {
  mkdirSync(cache, { recursive: true })
  const python = await preparePython(join(cache, 'python'))
  const child = Bun.spawn([python, join(import.meta.dir, 'attack', name), ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  })
  if ((await child.exited) !== 0) throw new Error('the attack could not be carried out')
}

function readResults(): Results {
  return existsSync(resultsPath) ? JSON.parse(readFileSync(resultsPath, 'utf8')) : {}
}
