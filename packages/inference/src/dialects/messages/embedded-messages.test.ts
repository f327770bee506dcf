/** Messages on the embedded engine: what it supports of the dialect itself. */
import { afterAll, expect, test } from 'bun:test'
import { storyEngine } from '../../../../../test/story-model.ts'
import { MeteredEngine } from '../../metered-engine.ts'
import { ask } from '../../testing/ask.ts'

const metrics = { firstAnswer: () => {}, gauge: () => {} }
const engine = new MeteredEngine(await storyEngine({ contextLength: 64 }), metrics)
afterAll(() => engine.close())

const messages = [{ role: 'user', content: 'Tell me a story.' }]
const body = { model: 'stories', messages, temperature: 0, max_tokens: 4 }

test('an answer that fills the context says so, and one that fills its limit does not', async () => {
  const reasons = async (max_tokens: number) => {
    // The model must not end its story before its context does.
    const asked = { ...body, max_tokens, ignore_eos: true }
    const { json } = await ask(engine, '/v1/messages', asked)
    const { events } = await ask(engine, '/v1/messages', { ...asked, stream: true })
    const last = events.find(({ data }) => data.type === 'message_delta')?.data
    return [json.stop_reason, last.delta.stop_reason]
  }
  const exceeded = 'model_context_window_exceeded'
  expect(await reasons(32_000)).toEqual([exceeded, exceeded])
  expect(await reasons(4)).toEqual(['max_tokens', 'max_tokens'])
})

test('a started answer is continued, in place of the model', async () => {
  const begun = { role: 'assistant', content: 'Once upon a time, there was a' }
  const asked = { ...body, messages: [...messages, begun], max_tokens: 8 }
  const { json } = await ask(engine, '/v1/messages', asked)
  const prompt = `### User:\nTell me a story.\n\n### Assistant:\n${begun.content}`
  const completion = { model: 'stories', prompt, temperature: 0, max_tokens: 8 }
  const { json: expected } = await ask(engine, '/v1/completions', completion)
  expect(json.content[0].text).toBe(expected.choices[0].text)
  expect(json.content[0].text).toStartWith(' little')
  expect(json.usage.input_tokens).toBe(expected.usage.prompt_tokens)
})

test('a started answer cannot be continued under a schema', async () => {
  const format = { type: 'json_schema', schema: { type: 'object' } }
  const begun = { role: 'assistant', content: '{' }
  const asked = { ...body, messages: [...messages, begun], output_config: { format } }
  const { status, json } = await ask(engine, '/v1/messages', asked)
  expect([status, json.error.type]).toEqual([400, 'invalid_request_error'])
})

test('64 stop sequences are accepted, but only 4 in the dialect of OpenAI', async () => {
  const stops = Array.from({ length: 64 }, (_, at) => `stop ${at}`)
  const said = await ask(engine, '/v1/messages', { ...body, stop_sequences: stops })
  expect(said.status).toBe(200)
  const { status, json } = await ask(engine, '/v1/chat/completions', { ...body, stop: stops })
  expect([status, json.error.param]).toEqual([400, 'stop'])
})
