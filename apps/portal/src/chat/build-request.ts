/** The request of a chat: the messages, and how the model should answer. */
import type { ChatMessage, ChatRequest } from '@privatemode/sdk'

export type Said = {
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** `data:` URLs of images. */
  readonly images?: readonly string[]
}

/** As typed by the visitor; empty means the model's own default. */
export type ChatSettings = {
  readonly system: string
  readonly maxTokens: string
  readonly temperature: string
  readonly topP: string
  readonly seed: string
  /** One sequence per line. */
  readonly stop: string
  /** JSON: a list of tools, in the API's format. */
  readonly tools: string
  /** JSON: `response_format`, in the API's format. */
  readonly format: string
}

export const defaultSettings: ChatSettings = {
  system: '',
  maxTokens: '512',
  temperature: '',
  topP: '',
  seed: '',
  stop: '',
  tools: '',
  format: '',
}

export type BuiltRequest =
  | { readonly kind: 'built'; readonly request: ChatRequest }
  | { readonly kind: 'wrong'; readonly reason: string }

export function buildRequest(
  model: string,
  said: readonly Said[],
  settings: ChatSettings,
): BuiltRequest {
  try {
    return {
      kind: 'built',
      request: { model, messages: messagesOf(said, settings), ...parametersOf(settings) },
    }
  } catch (error) {
    return { kind: 'wrong', reason: error instanceof Error ? error.message : String(error) }
  }
}

function messagesOf(said: readonly Said[], { system }: ChatSettings): ChatMessage[] {
  const opening: ChatMessage[] = system.trim() === '' ? [] : [{ role: 'system', content: system }]
  const spoken = said.filter(({ text, images = [] }) => text !== '' || images.length > 0)
  return [...opening, ...spoken.map(messageOf)]
}

function messageOf({ role, text, images = [] }: Said): ChatMessage {
  if (images.length === 0) return { role, content: text }
  const pictures = images.map((url) => ({ type: 'image_url' as const, image_url: { url } }))
  return { role, content: [...pictures, { type: 'text', text }] }
}

/** Only fields that were set: the model server decides about omitted ones. */
export function parametersOf(settings: ChatSettings): Record<string, unknown> {
  const stop = settings.stop.split('\n').filter((line) => line !== '')
  return {
    max_completion_tokens:
      readNumber(settings.maxTokens, 'Maximum answer length', 1, 32_768) ?? 512,
    ...named('temperature', readNumber(settings.temperature, 'Temperature', 0, 2)),
    ...named('top_p', readNumber(settings.topP, 'Top-p', 0, 1)),
    ...named('seed', readNumber(settings.seed, 'Seed', 0, Number.MAX_SAFE_INTEGER)),
    ...named('stop', stop.length === 0 ? undefined : stop),
    ...named('tools', readJson(settings.tools, 'Tools')),
    ...named('response_format', readJson(settings.format, 'Structured output')),
  }
}

const named = (name: string, value: unknown) => (value === undefined ? {} : { [name]: value })

function readNumber(text: string, name: string, least: number, most: number): number | undefined {
  if (text.trim() === '') return undefined
  const value = Number(text)
  if (value >= least && value <= most) return value
  throw new Error(`${name} must be between ${least} and ${most}`)
}

function readJson(text: string, name: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${name} is not valid JSON`)
  }
}

/** Initial values; visitors change them. */
export const toolExample = JSON.stringify(
  [
    {
      type: 'function',
      function: {
        name: 'weather',
        description: 'The weather in a city',
        parameters: {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
        },
      },
    },
  ],
  null,
  2,
)

export const formatExample = JSON.stringify(
  {
    type: 'json_schema',
    json_schema: {
      name: 'person',
      schema: {
        type: 'object',
        properties: { name: { type: 'string' }, age: { type: 'integer' } },
        required: ['name', 'age'],
        additionalProperties: false,
      },
    },
  },
  null,
  2,
)
