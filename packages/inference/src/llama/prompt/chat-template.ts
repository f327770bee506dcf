/** A model's chat template: its capabilities, detected by trying, and the text it renders. */
import type { NativeModel, NativeTemplate } from '../model/native-binding.ts'

/** How the model is told about functions, and how it calls them. */
export type ToolStyle =
  /** The template supports `<tool_call>`: it is given the functions. */
  | 'native'
  /** OpenAI's Harmony format, with channels. */
  | 'harmony'
  /** The template does not support functions: we describe them and their calls as text. */
  | 'described'

export type TemplateVariables = {
  readonly messages: readonly object[]
  readonly tools?: readonly object[]
  readonly [name: string]: unknown
}

/** For files without a template: headings that any model has seen. */
const plainTemplate = `{%- for message in messages -%}
{%- if message.role == 'system' -%}{{ message.content + '\\n\\n' }}
{%- elif message.role == 'user' -%}{{ '### User:\\n' + message.content + '\\n\\n' }}
{%- else -%}{{ '### Assistant:\\n' + message.content + '\\n\\n' }}
{%- endif -%}
{%- endfor -%}
{{- '### Assistant:\\n' -}}`

const mark = 'Zebra7319'
const probeUser = { role: 'user', content: 'hello' }
const probeCall = {
  role: 'assistant',
  content: '',
  tool_calls: [
    { id: 'call00001', type: 'function', function: { name: `${mark}c`, arguments: { x: 1 } } },
  ],
}
const probeTool = {
  type: 'function',
  function: {
    name: `${mark}t`,
    description: 'd',
    parameters: { type: 'object', properties: { x: { type: 'integer' } } },
  },
}

export class ChatTemplate {
  readonly toolStyle: ToolStyle
  readonly hasSystemRole: boolean
  /** Whether the template mentions `<think>`: the model may reason before it answers. */
  readonly mayThink: boolean
  /** Stops a model without turn markers from continuing as the user. */
  readonly stops: readonly string[]
  readonly #template: NativeTemplate
  readonly #tokens: { readonly bos_token: string; readonly eos_token: string }

  constructor(
    native: NativeModel,
    source: string | undefined,
    tokens: { readonly bos_token: string; readonly eos_token: string },
  ) {
    const text = source ?? plainTemplate
    this.#template = native.createTemplate(text)
    this.#tokens = tokens
    this.stops = source === undefined ? ['\n### User:'] : []
    this.mayThink = text.includes('<think>')
    this.hasSystemRole = this.#shows(`${mark}s`, [
      { role: 'system', content: `${mark}s` },
      probeUser,
    ])
    this.toolStyle = this.#findToolStyle(text)
  }

  /** The prompt's text; undefined if the template refuses these messages. */
  render(variables: TemplateVariables): string | undefined {
    try {
      return this.#render(variables)
    } catch {
      return undefined // the template's message may quote the messages, so it is discarded
    }
  }

  #render(variables: TemplateVariables): string {
    return this.#template.render({ ...this.#tokens, add_generation_prompt: true, ...variables })
  }

  #findToolStyle(text: string): ToolStyle {
    if (text.includes('<|channel|>') && text.includes('<|message|>')) return 'harmony'
    const result = {
      role: 'tool',
      tool_call_id: 'call00001',
      name: `${mark}c`,
      content: `${mark}r`,
    }
    const history = [probeUser, probeCall, result]
    const isNative =
      text.includes('<tool_call>') &&
      !text.includes('<function=') &&
      this.#shows(`${mark}t`, [probeUser], [probeTool]) &&
      this.#shows(`${mark}c`, history, [probeTool]) &&
      this.#shows(`${mark}r`, history, [probeTool])
    return isNative ? 'native' : 'described'
  }

  #shows(text: string, messages: readonly object[], tools?: readonly object[]): boolean {
    return this.render({ messages, ...(tools && { tools }) })?.includes(text) === true
  }
}
