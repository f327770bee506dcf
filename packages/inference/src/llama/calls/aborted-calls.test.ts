/** Requests aborted in the middle of an embedded-engine answer: usage is exact to the token. */
import { afterAll, expect, test } from 'bun:test'
import { storyEngine } from '../../../../../test/story-model.ts'
import type { Engine, EngineUsage, JsonObject } from '../../engine.ts'
import { ask } from '../../testing/ask.ts'

const engine = await storyEngine()
afterAll(() => engine.close())

const model = 'stories'
const messages = [{ role: 'user', content: 'Tell me a story about a little cat.' }]
const long = { model, ignore_eos: true }
const endpoints: [string, JsonObject][] = [
  ['/v1/chat/completions', { ...long, messages, max_tokens: 40 }],
  ['/v1/chat/completions', { ...long, messages, max_tokens: 40, n: 2 }],
  ['/v1/completions', { ...long, prompt: ['Once upon a time', 'The dog'], max_tokens: 40 }],
  ['/v1/messages', { ...long, messages, max_tokens: 40 }],
  ['/v1/responses', { ...long, input: 'Tell me a story.', max_output_tokens: 40 }],
]

/** The same engine, whose caller leaves at the fifth token. */
function leaveAtFifth(aborter: AbortController, told: EngineUsage[]): Engine {
  const watched: Engine = {
    name: engine.name,
    models: () => engine.models(),
    countTokens: (body) => engine.countTokens(body),
    close: () => engine.close(),
    call: (call) => {
      const onUsage = (usage: EngineUsage) => {
        told.push(usage)
        call.onUsage?.(usage)
        if (usage.completionTokens >= 5) aborter.abort()
      }
      return engine.call({ ...call, onUsage })
    },
  }
  return watched
}

for (const [path, body] of endpoints)
  for (const stream of [true, false]) {
    const choices = body.n === 2 ? ', two choices' : ''
    const name = `${path}${choices}, ${stream ? 'streamed' : 'whole'}`
    test(`${name}: the whole prompt and every generated token are counted`, async () => {
      const short = body.max_tokens === undefined ? { max_output_tokens: 1 } : { max_tokens: 1 }
      const finished = (await ask(engine, path, { ...body, ...short })).answer.usage()
      const aborter = new AbortController()
      const told: EngineUsage[] = []
      const leaving = leaveAtFifth(aborter, told)
      const { answer } = await ask(leaving, path, { ...body, stream }, { signal: aborter.signal })
      const usage = answer.usage()
      expect(answer.outcome()).toBe('aborted')
      expect(usage).toMatchObject({ ...told.at(-1) })
      expect(usage.promptTokens).toBe(finished.promptTokens)
      expect(usage.completionTokens).toBeWithin(5, 12)
    })
  }
