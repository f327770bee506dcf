/** A generation that is put under a grammar while it runs. */
import { afterAll, expect, test } from 'bun:test'
import { rejection } from '../../../../../test/rejection.ts'
import { loadStories } from '../../../../../test/story-model.ts'
import { PrefixStore } from '../cache/prefix-store.ts'
import { SealedMemory } from '../cache/sealed-memory.ts'
import { ChoiceOutput } from '../calls/choice-output.ts'
import { begunCallGrammar } from '../grammar/answer-grammar.ts'
import { nativeContextOf, nativeModelOf } from '../model/native-binding.ts'
import { ThreadShare } from '../model/thread-share.ts'
import { PlainOutput } from '../output/plain-output.ts'
import type { GenerationTask, SampledToken } from './generation-task.ts'
import { SequenceScheduler } from './sequence-scheduler.ts'
import { SequenceSlots } from './sequence-slots.ts'
import { TokenText } from './token-text.ts'

const model = await loadStories()
const native = nativeModelOf(model)
const text = new TokenText(model)
const context = await model.createContext({
  contextSize: 256,
  sequences: 1,
  threads: 1,
  batchSize: 70,
})
const memory = new SealedMemory()
const slots = new SequenceSlots(nativeContextOf(context), memory, new PrefixStore(memory, 0), {
  count: 1,
  contextLength: 256,
  canTrim: true,
  stateFolder: undefined,
})
const scheduler = new SequenceScheduler(
  {
    native: nativeContextOf(context),
    model: native,
    slots,
    threads: new ThreadShare(1),
    isEndToken: (token) => model.isEogToken(token as never),
  },
  { batchTokens: 70, promptChunk: 64, sharedChunk: 32, maxWaiting: 4 },
)
afterAll(async () => {
  await scheduler.close()
  await context.dispose()
  await model.llama.dispose()
})

const task = (onToken: GenerationTask['onToken']): GenerationTask => ({
  prompt: [1, 9038, 2501, 263, 931],
  key: 'k',
  keep: false,
  maxTokens: 80,
  sampler: { temperature: 0 },
  topLogprobs: undefined,
  promptLogprobs: undefined,
  ignoreEnd: false,
  signal: new AbortController().signal,
  onStart: () => {},
  onPromptScore: () => {},
  onToken,
})

const tools = [
  {
    type: 'function' as const,
    function: {
      name: 'f',
      parameters: { type: 'object', properties: { a: { enum: [1, 2] } }, required: ['a'] },
    },
  },
]

test('a model that has started a call can only finish it as the schema allows', async () => {
  const grammar = begunCallGrammar(native, { kind: 'auto', tools, isParallel: false })
  const said: number[] = []
  const [end] = await Promise.all(
    scheduler.start([
      [
        task(({ token, isEnd }) => {
          if (!isEnd) said.push(token)
          return said.length === 5
            ? { kind: 'constrain', grammar: grammar.start() }
            : { kind: 'continue' }
        }),
      ],
    ]),
  )
  const written = Buffer.concat(said.map((token) => text.bytesOf(token))).toString()
  expect(end).toBe('end_token')
  expect(written.slice(written.indexOf('{') - 1)).toMatch(
    /^\n?\{"name": "f", "arguments": \{ ?"a": ?[12] ?\}\}\n?<\/tool_call>$/,
  )
})

test('text after a call marker is constrained once, and one call ends the answer', () => {
  let asked = 0
  const output = new ChoiceOutput({
    text,
    reader: new PlainOutput({ startsInReasoning: false, hasTools: true }),
    stops: [],
    silentStops: [],
    shownMarks: new Set(),
    grammarAtCall: () => {
      asked++
      return begunCallGrammar(native, { kind: 'auto', tools, isParallel: false }).start()
    },
    endsAfterCall: true,
  })
  const decisions = model
    .tokenize('<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>')
    .map((token): SampledToken => ({ token, isEnd: false, score: undefined }))
    .map((sampled) => output.push(sampled).decision.kind)
  expect(decisions.filter((kind) => kind === 'constrain')).toHaveLength(1)
  expect(asked).toBe(1)
  expect(decisions.at(-1)).toBe('stop')
})

test('an error in the caller’s callback ends its own generation and frees the sequence', async () => {
  const failing = scheduler.start([
    [
      task(() => {
        throw new Error('caller broke')
      }),
    ],
  ])
  expect(await rejection(Promise.all(failing))).toMatchObject({ code: 'engine_failed' })
  const [end] = await Promise.all(scheduler.start([[task(() => ({ kind: 'stop' }))]]))
  expect(end).toBe('stopped')
})
