/** Checks 44 to 48: calls of tools in chat completions, whole and streamed. */
import { expect, test } from 'bun:test'
import { type ClientStack, chat, chatPath, model, throughBoth } from '../client-stack.ts'

const tool = (name: string) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { at: { type: 'string' } } } },
})
const tools = [tool('look'), tool('listen')]
const both = '[[tool look {"at":"the sky"}]] [[tool listen {"at":"the sea"}]]'
const one = '[[tool look {"at":"the sky"}]]'

export function toolChecks(place: ClientStack): void {
  throughBoth('tools', place, (entrance) => {
    test('check 44: a tool call has id, type and JSON arguments, and ends with tool_calls', async () => {
      const ids = new Set<string>()
      for (const tool_choice of ['auto', 'required']) {
        const { json } = await entrance.ask(chatPath, chat(both, { tools, tool_choice }))
        const [choice] = json.choices
        expect(choice.finish_reason).toBe('tool_calls')
        for (const call of choice.message.tool_calls) {
          expect(call.type).toBe('function')
          expect(JSON.parse(call.function.arguments)).toHaveProperty('at')
          ids.add(call.id)
        }
      }
      expect(ids.size).toBeGreaterThanOrEqual(2)
    })

    test('check 45: streamed calls have an index in every delta, id and name in the first only', async () => {
      const { events } = await entrance.ask(chatPath, chat(one, { tools, stream: true }))
      const deltas = toolDeltas(events)
      expect(deltas.length).toBeGreaterThanOrEqual(3)
      expect(deltas[0]).toMatchObject({ index: 0, type: 'function', id: expect.any(String) })
      expect(deltas[0].function.name).toBe('look')
      for (const delta of deltas.slice(1)) {
        expect(delta.index).toBe(0)
        expect('id' in delta || 'name' in delta.function).toBe(false)
      }
      const text = deltas.map((delta) => delta.function.arguments ?? '').join('')
      expect(JSON.parse(text)).toEqual({ at: 'the sky' })
      expect(events.at(-2)?.data.choices[0].finish_reason).toBe('tool_calls')
    })

    test('check 46: parallel calls have indices 0 and 1; parallel_tool_calls: false gives one', async () => {
      const streamed = await entrance.ask(chatPath, chat(both, { tools, stream: true }))
      const indices = toolDeltas(streamed.events).map(({ index }) => index)
      expect([...new Set(indices)]).toEqual([0, 1])
      const single = chat(both, { tools, parallel_tool_calls: false })
      const whole = await entrance.ask(chatPath, single)
      expect(whole.json.choices[0].message.tool_calls).toHaveLength(1)
      const { events } = await entrance.ask(chatPath, { ...single, stream: true })
      expect(new Set(toolDeltas(events).map(({ index }) => index))).toEqual(new Set([0]))
    })

    test('check 47: tool_choice is obeyed; an unknown name is 400; empty tools are handled', async () => {
      const none = await entrance.ask(chatPath, chat(one, { tools, tool_choice: 'none' }))
      expect(none.json.choices[0].message.tool_calls).toEqual([])
      const words = crypto.randomUUID()
      const named = (name: string) => ({ type: 'function', function: { name } })
      await entrance.ask(chatPath, chat(words, { tools, tool_choice: named('listen') }))
      expect(place.seen(words)?.body.tool_choice).toEqual(named('listen'))
      const unknown = await entrance.ask(
        chatPath,
        chat('hi', { tools, tool_choice: named('smell') }),
      )
      expect([unknown.status, unknown.json.error.param]).toEqual([400, 'tool_choice.function.name'])
      const wrong = await entrance.ask(chatPath, chat('hi', { tools, tool_choice: 'maybe' }))
      expect(wrong.status).toBe(400)
      expect((await entrance.ask(chatPath, chat('hi', { tools: [] }))).status).toBe(200)
    })

    test('check 48: a tool result leads to an answer', async () => {
      const question = { role: 'user', content: one }
      const asked = await entrance.ask(chatPath, { model, messages: [question], tools })
      const { message } = asked.json.choices[0]
      const [call] = message.tool_calls
      const result = { role: 'tool', tool_call_id: call.id, content: 'blue' }
      const messages = [question, message, result]
      const { json } = await entrance.ask(chatPath, { model, messages, tools })
      expect(json.choices[0].message.content).toBe('The tool said: blue')
      expect(json.choices[0].finish_reason).toBe('stop')
    })
  })
}

// biome-ignore lint/suspicious/noExplicitAny: wire bodies are what a test is about
function toolDeltas(events: { data: any }[]): any[] {
  return events.flatMap(({ data }) => data.choices?.[0]?.delta.tool_calls ?? [])
}
