/** Records every set of conversations in every shape into one folder, with what a reader must know of the machine. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { collect, type Mode } from './collect.ts'
import { makeConversations } from './conversations.ts'
import { embeddedAnswers } from './embedded-answers.ts'
import type { Recording } from './results.ts'
import {
  createTokenizer,
  type ScriptedConversation,
  scriptConversation,
} from './scripted-conversation.ts'
import { seededRandom } from './seeded-random.ts'

export type RecordOptions = {
  readonly folder: string
  readonly conversations: number
  /** Questions to the embedded model on each topic; 0 leaves them out. */
  readonly embeddedPerTopic: number
  readonly concurrency: number
  readonly seed: number
}

const modes: readonly Mode[] = ['off', 'default', 'strict']

/** The embedded model's answers stay in the folder: they are asked for once, and need no quiet machine. */
export async function recordAll(options: RecordOptions): Promise<void> {
  const { folder, conversations, embeddedPerTopic, concurrency, seed } = options
  mkdirSync(folder, { recursive: true })
  const fromModel = await askModel(folder, embeddedPerTopic)
  const startedAt = new Date().toISOString()
  const loadBefore = load()
  const sets = { scripted: await scripted(conversations, seed), embedded: fromModel }
  for (const [set, played] of Object.entries(sets)) {
    const outPath = join(folder, `${set}.jsonl`)
    if (played.length === 0) rmSync(outPath, { force: true })
    else await collect(played, { modes, outPath, concurrency, onProgress: progressOf(set) })
  }
  const minutes = Math.round((Date.now() - Date.parse(startedAt)) / 6000) / 10
  const cores = availableParallelism()
  const recording: Recording = { startedAt, minutes, cores, loadBefore, loadAfter: load(), seed }
  writeFileSync(join(folder, 'recording.json'), `${JSON.stringify(recording, null, 2)}\n`)
}

const load = () => Math.round((loadavg()[0] ?? 0) * 10) / 10

const progressOf = (set: string) => (mode: Mode, done: number, failed: number) => {
  if (done % 100 === 0) console.log(`${set}, ${mode}: ${done} played, ${failed} failed`)
}

async function scripted(count: number, seed: number): Promise<ScriptedConversation[]> {
  const random = seededRandom(seed)
  const { tokenize, close } = await createTokenizer()
  const made = makeConversations(count, random)
  const all = made.map((conversation) => scriptConversation(conversation, tokenize, random))
  await close()
  return all
}

async function askModel(folder: string, perTopic: number): Promise<ScriptedConversation[]> {
  if (perTopic === 0) return []
  const onProgress = (done: number) => console.log(`the model has answered ${done} questions`)
  return embeddedAnswers({ perTopic, path: join(folder, 'embedded-answers.json'), onProgress })
}
