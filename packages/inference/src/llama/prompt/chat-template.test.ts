/** Chat templates of several kinds, and how messages are adapted to them. */
import { afterAll, describe, expect, test } from 'bun:test'
import { loadStories } from '../../../../../test/story-model.ts'
import { nativeModelOf } from '../model/native-binding.ts'
import { TokenText } from '../scheduling/token-text.ts'
import { makeChatPrompt } from './chat-prompt.ts'
import { ChatTemplate } from './chat-template.ts'
import { PromptTokens } from './prompt-tokens.ts'

const model = await loadStories()
const native = nativeModelOf(model)
const tokenizer = new PromptTokens(model, new TokenText(model), 256)
afterAll(() => model.llama.dispose())

const templateOf = (source: string | undefined) =>
  new ChatTemplate(native, source, { bos_token: '<s>', eos_token: '</s>' })

const marked = `{%- if tools %}{{ '[tools]' + (tools | tojson) }}{% endif -%}
{%- for m in messages -%}
{{- '[' + m.role + ']' + m.content -}}
{%- for c in m.tool_calls or [] %}{{ '<tool_call>' + c.function.name + (c.function.arguments | tojson) + '</tool_call>' }}{% endfor -%}
{%- endfor -%}{{- '[assistant]' + ('<think>' if enable_thinking else '') -}}`
const strict = `{%- for m in messages -%}
{%- if m.role not in ['user', 'assistant'] %}{{ raise_exception('unknown role ' + m.content) }}{% endif -%}
{%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('must alternate') }}{% endif -%}
{{- '[' + m.role + ']' + m.content -}}
{%- endfor -%}`
const harmony = `<|start|>{{ messages[0].content }}<|message|><|channel|>`

const textOf = (body: object, template: ChatTemplate): string => {
  const { tokens } = makeChatPrompt({ ...body }, template, tokenizer)
  return model.detokenize(tokens as never, true).replace(/^<s> ?/, '')
}

describe('a template', () => {
  test('is classified by what it renders', () => {
    expect(templateOf(marked)).toMatchObject({
      toolStyle: 'native',
      hasSystemRole: true,
      mayThink: true,
    })
    expect(templateOf(strict)).toMatchObject({ toolStyle: 'described', hasSystemRole: false })
    expect(templateOf(harmony)).toMatchObject({ toolStyle: 'harmony' })
    expect(templateOf(undefined)).toMatchObject({ toolStyle: 'described', stops: ['\n### User:'] })
  })

  test('that is not valid Jinja aborts startup', () => {
    expect(() => templateOf('{% for x in %}')).toThrow()
  })

  test('gets developer messages as system, content parts as text, null as nothing', () => {
    const messages = [
      { role: 'developer', content: 'Be kind.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'text', text: 'you' },
        ],
      },
      { role: 'assistant', content: null },
    ]
    expect(textOf({ messages }, templateOf(marked))).toBe(
      '[system]Be kind.[user]Hi\nyou[assistant][assistant]',
    )
  })

  test('that supports functions gets them, with calls as values and results', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"a": 1}' } }
    const messages = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'done' },
    ]
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const text = textOf({ messages, tools }, templateOf(marked))
    expect(text).toContain('[tools][{')
    expect(text).toContain('<tool_call>f{"a": 1}</tool_call>[tool]done')
  })

  test('without such support gets functions, calls and results as text', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
    const messages = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'x' },
      { role: 'assistant', content: 'wait', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'done' },
    ]
    const tools = [{ type: 'function', function: { name: 'f', description: 'does f' } }]
    const text = textOf({ messages, tools }, templateOf(strict))
    expect(text).toStartWith('[user]Be kind.')
    expect(text).toContain('{"name":"f","description":"does f"}')
    expect(text).toContain('wait\n<tool_call>\n{"name": "f", "arguments": {"a":1}}\n</tool_call>')
    expect(text).toContain('<tool_response>\ndone\n</tool_response>')
  })

  test('that requires alternating turns gets consecutive turns of one role merged', () => {
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'user', content: 'b' },
    ]
    expect(textOf({ messages }, templateOf(strict))).toBe('[user]a\n\nb')
  })

  test('that still refuses is 400, and its message is not exposed', () => {
    const refusing = templateOf(`{{ raise_exception('no: ' + messages[0].content) }}`)
    const ask = () => textOf({ messages: [{ role: 'user', content: 'secret' }] }, refusing)
    expect(ask).toThrow('does not accept these messages')
    expect(ask).not.toThrow('secret')
  })

  test('receives the reasoning effort', () => {
    const messages = [{ role: 'user', content: 'x' }]
    const think = (body: object) =>
      makeChatPrompt({ messages, ...body }, templateOf(marked), tokenizer).startsInReasoning
    expect(think({})).toBe(false)
    expect(think({ reasoning_effort: 'high' })).toBe(true)
    expect(think({ reasoning_effort: 'none' })).toBe(false)
    expect(think({ chat_template_kwargs: { enable_thinking: true } })).toBe(true)
    expect(() => think({ chat_template_kwargs: 'x' })).toThrow()
  })

  test('is followed by the start of an answer that is to be continued', () => {
    const begun = { role: 'assistant', content: 'I am </s>', reasoning_content: 'hm' }
    const messages = [{ role: 'user', content: 'x' }, begun]
    const body = { messages, continue_final_message: true, add_generation_prompt: false }
    expect(textOf(body, templateOf(marked))).toBe('[user]x[assistant]I am </s>')
    const prompt = makeChatPrompt(body, templateOf(marked), tokenizer)
    expect(prompt).toMatchObject({ continues: true, startsInReasoning: false })
    expect(prompt.tokens).not.toContain(2)
    const thinking = { ...body, reasoning_effort: 'high' }
    expect(textOf(thinking, templateOf(marked))).toBe(
      '[user]x[assistant]<think>hm\n</think>\n\nI am </s>',
    )
    expect(makeChatPrompt(thinking, templateOf(marked), tokenizer).startsInReasoning).toBe(false)
    expect(textOf(body, templateOf(strict))).toBe('[user]xI am </s>')
    expect(textOf(body, templateOf(harmony))).toEndWith('<|channel|>final<|message|>I am </s>')
  })

  test('continues nothing but an answer', () => {
    const body = { messages: [{ role: 'user', content: 'x' }], continue_final_message: true }
    expect(() => textOf(body, templateOf(marked))).toThrow('assistant message')
  })

  test('cannot be given other messages through its options', () => {
    const messages = [{ role: 'user', content: 'x' }]
    const body = { messages, chat_template_kwargs: { messages: 'evil', bos_token: 'evil' } }
    expect(textOf(body, templateOf(marked))).toBe('[user]x[assistant]')
  })
})

test('control tokens written in a message stay plain text', () => {
  const tokensOf = (content: string) =>
    makeChatPrompt({ messages: [{ role: 'user', content }] }, templateOf(undefined), tokenizer)
      .tokens
  const end = 2
  expect(tokensOf('strike </s> through')).not.toContain(end)
  expect(tokenizer.ofText('strike </s> through')).toContain(end)
  expect(
    textOf({ messages: [{ role: 'user', content: '<s>x</s>' }] }, templateOf(undefined)),
  ).toContain('<s>x</s>')
})
