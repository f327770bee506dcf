/** Function calls and structured answers on a real, very weak model: the grammar enforces them. */
import { afterAll, describe, expect, test } from 'bun:test'
import { rejection } from '../../../../../test/rejection.ts'
import {
  type Answer,
  ask,
  askStream,
  collect,
  storyEngine,
} from '../../../../../test/story-model.ts'

const engine = await storyEngine()
afterAll(() => engine.close())

const messages = [{ role: 'user', content: 'Sun or rain?' }]
const weather = {
  type: 'function',
  function: {
    name: 'weather',
    parameters: {
      type: 'object',
      properties: { city: { enum: ['Rome', 'Oslo'] } },
      required: ['city'],
      additionalProperties: false,
    },
  },
}
const clock = {
  type: 'function',
  function: { name: 'clock', parameters: { type: 'object', properties: {} } },
}
const chat = (body: object) => ask(engine, 'chat', { messages, max_tokens: 60, ...body })

describe('a forced function call', () => {
  test('has an id, the function and valid arguments', async () => {
    const body = { tools: [weather], tool_choice: 'required', parallel_tool_calls: false }
    const [choice] = (await chat(body)).choices
    expect(choice.finish_reason).toBe('tool_calls')
    expect(choice.message.content).toBeNull()
    const [call, ...more] = choice.message.tool_calls
    expect(more).toEqual([])
    expect(call).toMatchObject({ type: 'function', function: { name: 'weather' } })
    expect(call.id).toMatch(/^call_/)
    expect(weather.function.parameters.properties.city.enum).toContain(
      JSON.parse(call.function.arguments).city,
    )
  })

  test('calls the one that is named', async () => {
    const tool_choice = { type: 'function', function: { name: 'clock' } }
    const [choice] = (await chat({ tools: [weather, clock], tool_choice })).choices
    expect(choice.message.tool_calls.map((call: Answer) => call.function.name)).toEqual(['clock'])
  })

  test('may be several at once, each with its own index and id', async () => {
    const body = {
      messages,
      max_tokens: 120,
      tools: [clock],
      tool_choice: 'required',
      seed: 1,
      temperature: 1,
    }
    const chunks = await collect(await askStream(engine, 'chat', body))
    const deltas = chunks
      .flatMap((chunk) => chunk.choices)
      .flatMap((one) => one.delta.tool_calls ?? [])
    const firsts = deltas.filter((delta: Answer) => delta.id !== undefined)
    expect(firsts.length).toBeGreaterThan(1)
    expect(firsts.map((delta: Answer) => delta.index)).toEqual(firsts.map((_, at) => at))
    expect(new Set(firsts.map((delta: Answer) => delta.id)).size).toBe(firsts.length)
    for (const delta of deltas) expect(delta.index).toBeNumber()
    for (const delta of deltas.filter((one: Answer) => one.id === undefined))
      expect(delta.function).not.toHaveProperty('name')
  })

  test('streams arguments that add up to valid JSON', async () => {
    const body = {
      messages,
      max_tokens: 60,
      tools: [weather],
      tool_choice: 'required',
      parallel_tool_calls: false,
    }
    const chunks = await collect(await askStream(engine, 'chat', body))
    const deltas = chunks
      .flatMap((chunk) => chunk.choices)
      .flatMap((one) => one.delta.tool_calls ?? [])
    const text = deltas.map((delta: Answer) => delta.function.arguments).join('')
    expect(JSON.parse(text)).toHaveProperty('city')
    const reasons = chunks.flatMap((chunk) => chunk.choices).map((one) => one.finish_reason)
    expect(reasons.filter(Boolean)).toEqual(['tool_calls'])
  })

  test('of an unknown function is 400', async () => {
    const tool_choice = { type: 'function', function: { name: 'nothing' } }
    expect(await rejection(chat({ tools: [weather], tool_choice }))).toMatchObject({
      status: 400,
      param: 'tool_choice',
    })
  })

  test('with an invalid schema is 400', async () => {
    const broken = { type: 'function', function: { name: 'f', parameters: { type: 'thing' } } }
    expect(await rejection(chat({ tools: [broken], tool_choice: 'required' }))).toMatchObject({
      status: 400,
      param: 'tools',
    })
  })
})

describe('a free model with tools', () => {
  test('with tool_choice none sees no tools', async () => {
    const without = await engine.countTokens({ model: 'stories', messages })
    const none = { model: 'stories', messages, tools: [weather], tool_choice: 'none' }
    expect(await engine.countTokens(none)).toBe(without)
  })

  test('sees earlier calls and their results in its prompt', async () => {
    const call = {
      id: 'c1',
      type: 'function',
      function: { name: 'weather', arguments: '{"city":"Rome"}' },
    }
    const history = [
      ...messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny, 31 degrees' },
    ]
    const base = await engine.countTokens({ model: 'stories', messages })
    const told = await engine.countTokens({ model: 'stories', messages: history })
    expect(told).toBeGreaterThan(base + 30)
    const answer = await chat({ messages: history, max_tokens: 4 })
    expect(answer.usage.prompt_tokens).toBe(told)
  })
})

describe('a structured answer', () => {
  test('of type json_object is an object', async () => {
    const body = {
      response_format: { type: 'json_object' },
      max_tokens: 150,
      temperature: 1,
      seed: 7,
    }
    const [choice] = (await chat(body)).choices
    if (choice.finish_reason === 'stop') expect(JSON.parse(choice.message.content)).toBeObject()
    else expect(choice.message.content).toStartWith('{')
  })

  test('with a schema conforms to it', async () => {
    const schema = {
      type: 'object',
      properties: {
        mood: { type: 'string', enum: ['glad', 'sad'] },
        age: { type: 'integer', minimum: 3, maximum: 12 },
        tags: { type: 'array', items: { type: 'boolean' }, minItems: 2, maxItems: 2 },
      },
      required: ['mood', 'age', 'tags'],
      additionalProperties: false,
    }
    const response_format = {
      type: 'json_schema',
      json_schema: { name: 's', strict: true, schema },
    }
    for (const seed of [1, 2, 3]) {
      const [choice] = (await chat({ response_format, temperature: 1.5, seed })).choices
      expect(choice.finish_reason).toBe('stop')
      const value = JSON.parse(choice.message.content)
      expect(Object.keys(value)).toEqual(['mood', 'age', 'tags'])
      expect(['glad', 'sad']).toContain(value.mood)
      expect(value.age).toBeWithin(3, 13)
      expect(value.tags.map((tag: unknown) => typeof tag)).toEqual(['boolean', 'boolean'])
    }
  })

  test.each([
    { type: 'json_schema', json_schema: { schema: { type: 'nonsense' } } },
    { type: 'json_schema', json_schema: { schema: { $ref: '#/$defs/none' } } },
    {
      type: 'json_schema',
      json_schema: { strict: true, schema: { type: 'number', multipleOf: 3 } },
    },
    { type: 'json_schema', json_schema: { schema: { $ref: '#' } } },
    { type: 'json_schema' },
  ])('with the format %j is 400', async (response_format) => {
    const asked = chat({ response_format })
    expect(await rejection(asked)).toMatchObject({ status: 400 })
    expect(await rejection(asked)).toHaveProperty(
      'param',
      expect.stringContaining('response_format'),
    )
  })
})

test('a call truncated by the token limit leaves no marker in the text, wherever it is cut', async () => {
  const body = { tools: [weather], tool_choice: 'required' }
  for (const max_tokens of [1, 2, 3, 5, 8]) {
    const [choice] = (await chat({ ...body, max_tokens })).choices
    expect(choice.finish_reason).toBe('length')
    expect(choice.message.content ?? '').not.toMatch(/[<{]/)
  }
})
