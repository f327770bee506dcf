/**
 * `npm run study:shape`: what the shape of sealed traffic tells a watcher, and what hiding it costs.
 *
 * Plays conversations through the whole system for each traffic shape, records sizes and times of
 * all frames between proxy and gateway, lets classifiers guess from them, and writes
 * docs/traffic-shape.md. See there for what the figures mean.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { collect, type Mode } from './collect.ts'
import { makeConversations } from './conversations.ts'
import { embeddedAnswers } from './embedded-answers.ts'
import { preparePython } from './python-environment.ts'
import { writeReport } from './report.ts'
import type { Results } from './results.ts'
import {
  createTokenizer,
  type ScriptedConversation,
  scriptConversation,
} from './scripted-conversation.ts'
import { seededRandom } from './seeded-random.ts'

const root = join(import.meta.dir, '../..')
const cache = join(root, 'node_modules/.cache/privatemode-shape')
const resultsPath = join(import.meta.dir, 'results.json')
const modes: readonly Mode[] = ['off', 'default', 'strict']

const { values: options } = parseArgs({
  options: {
    /** How many conversations are played in each mode. */
    conversations: { type: 'string', default: '1200' },
    /** How many at a time, thrice as many if strict; more than the machine can play in time blurs it. */
    concurrency: { type: 'string', default: '28' },
    seed: { type: 'string', default: '1' },
    /** Answers of the embedded model for each topic, played in the same way; 0 leaves them out. */
    embedded: { type: 'string', default: '0' },
    /** collect, attack, report, or all of them. */
    step: { type: 'string', default: 'all' },
  },
})
const isWanted = (step: string) => options.step === 'all' || options.step === step

mkdirSync(cache, { recursive: true })
const sets = ['scripted', ...(options.embedded === '0' ? [] : ['embedded'])] as const
for (const set of sets) {
  const observedPath = join(cache, `${set}.jsonl`)
  if (isWanted('collect')) await collectSet(set, observedPath)
  if (isWanted('attack')) await attackSet(set, observedPath)
}
if (isWanted('report')) writeReport(readResults(), join(root, 'docs'))

async function collectSet(set: string, outPath: string): Promise<void> {
  const conversations = set === 'scripted' ? await scripted() : await fromModel()
  await collect(conversations, {
    modes,
    outPath,
    concurrency: Number(options.concurrency),
    onProgress(mode, done, failed) {
      if (done % 100 === 0) console.log(`${set}, ${mode}: ${done} played, ${failed} failed`)
    },
  })
}

async function scripted(): Promise<ScriptedConversation[]> {
  const random = seededRandom(Number(options.seed))
  const { tokenize, close } = await createTokenizer()
  const made = makeConversations(Number(options.conversations), random)
  const all = made.map((conversation) => scriptConversation(conversation, tokenize, random))
  await close()
  return all
}

const fromModel = () =>
  embeddedAnswers({
    perTopic: Number(options.embedded),
    path: join(cache, 'embedded-answers.json'),
    onProgress: (done) => console.log(`the model has answered ${done} questions`),
  })

async function attackSet(set: string, observedPath: string): Promise<void> {
  const python = await preparePython(join(cache, 'python'))
  const attackedPath = join(cache, `${set}-attacked.json`)
  const program = join(import.meta.dir, 'attack', 'main.py')
  const child = Bun.spawn([python, program, observedPath, attackedPath, ...modes], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  })
  if ((await child.exited) !== 0) throw new Error('the attack could not be carried out')
  const attacked = JSON.parse(readFileSync(attackedPath, 'utf8'))
  const { note: _, ...known } = readResults() // a note is about the run that it came with
  const results = { ...known, [set]: attacked }
  writeFileSync(resultsPath, `${JSON.stringify(results, null, 2)}\n`)
}

function readResults(): Results {
  return existsSync(resultsPath) ? JSON.parse(readFileSync(resultsPath, 'utf8')) : {}
}
