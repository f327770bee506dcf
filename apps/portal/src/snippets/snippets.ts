/** Code to paste: one snippet for each client, with the visitor's own endpoint, model and key. */
import { buildRequest, type ChatSettings, parametersOf, type Said } from '../chat/build-request.ts'
import { shellWord } from './shell-word.ts'

/** A conversation to turn into a program; without one, snippets use a sample question. */
export type ChatDraft = { readonly said: readonly Said[]; readonly settings: ChatSettings }

export type SnippetInputs = {
  /** Origin of the proxy or of the proxyless endpoint. */
  readonly origin: string
  readonly model: string
  /** Placeholder for the key; a proxy with its own key ignores it. */
  readonly apiKey: string
  /** The endpoint's certificate authority, if systems do not know it. */
  readonly caFile: string | undefined
  /** The model's context length in tokens, if known. */
  readonly contextLength?: number | undefined
  readonly draft?: ChatDraft
}

export type SnippetId =
  | 'curl'
  | 'openai-python'
  | 'openai-js'
  | 'anthropic-python'
  | 'anthropic-js'
  | 'claude-code'
  | 'opencode'

/** Steps in order: install something, save a file, run a command. */
export type SnippetStep = { readonly do: string; readonly text: string }

export type Snippet = { readonly id: SnippetId; readonly name: string }

export const snippets: readonly Snippet[] = [
  { id: 'curl', name: 'curl' },
  { id: 'openai-python', name: 'OpenAI, Python' },
  { id: 'openai-js', name: 'OpenAI, JavaScript' },
  { id: 'anthropic-python', name: 'Anthropic, Python' },
  { id: 'anthropic-js', name: 'Anthropic, JavaScript' },
  { id: 'claude-code', name: 'Claude Code' },
  { id: 'opencode', name: 'opencode' },
]

export function formatSnippet(id: SnippetId, inputs: SnippetInputs): readonly SnippetStep[] {
  switch (id) {
    case 'curl':
      return [{ do: 'Run', text: formatCurl(inputs) }]
    case 'openai-python':
      return python('openai', formatOpenAiPython(inputs), inputs)
    case 'openai-js':
      return javascript('openai', formatOpenAiJs(inputs), inputs)
    case 'anthropic-python':
      return python('anthropic', formatAnthropicPython(inputs), inputs)
    case 'anthropic-js':
      return javascript('@anthropic-ai/sdk', formatAnthropicJs(inputs), inputs)
    case 'claude-code':
      return [
        {
          do: `Run in the folder of your project${contextNote(inputs)}`,
          text: formatClaudeCode(inputs),
        },
      ]
    case 'opencode':
      return [
        {
          do: `Save as opencode.json in the folder of your project${contextNote(inputs)}`,
          text: formatOpencode(inputs),
        },
        { do: 'Run there', text: `${nodeAuthority(inputs)}opencode` },
      ]
  }
}

/** Agents' instructions and tool descriptions alone fill several thousand tokens. */
const shortestAgentContext = 16_384

/** Shown in advance: an agent with a short context fails in ways that do not name the cause. */
function contextNote({ contextLength }: SnippetInputs): string {
  if (contextLength === undefined || contextLength >= shortestAgentContext) return ''
  const tokens = (count: number) => count.toLocaleString('en')
  return ` (this model's context of ${tokens(contextLength)} tokens is too short for coding agents, which need about ${tokens(shortestAgentContext)})`
}

const question = 'Write one sentence about the sea.'
/** JSON is also a string literal in JavaScript and Python, whatever the text contains. */
const literal = (text: string) => JSON.stringify(text)

function formatCurl(inputs: SnippetInputs): string {
  const { origin, apiKey, caFile } = inputs
  const { model, ...rest } = openAiRequest(inputs)
  const body = { model, stream: true, ...rest }
  const authority = caFile === undefined ? '' : `--cacert ${shellWord(caFile)} `
  return [
    `curl -N ${authority}${shellWord(`${origin}/v1/chat/completions`)} \\`,
    `  -H 'content-type: application/json' \\`,
    `  -H ${shellWord(`authorization: Bearer ${apiKey}`)} \\`,
    `  -d ${shellWord(JSON.stringify(body))}`,
  ].join('\n')
}

function formatOpenAiPython(inputs: SnippetInputs): string {
  const { origin, apiKey } = inputs
  return `from openai import OpenAI

client = OpenAI(base_url=${literal(`${origin}/v1`)}, api_key=${literal(apiKey)})
answer = client.chat.completions.create(
${pythonArguments(openAiRequest(inputs))}
)
print(answer.choices[0].message.content)`
}

function formatOpenAiJs(inputs: SnippetInputs): string {
  const { origin, apiKey } = inputs
  return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${literal(`${origin}/v1`)}, apiKey: ${literal(apiKey)} })
const answer = await client.chat.completions.create({
${scriptFields(openAiRequest(inputs))}
})
console.log(answer.choices[0].message.content)`
}

function formatAnthropicPython(inputs: SnippetInputs): string {
  const { origin, apiKey } = inputs
  return `from anthropic import Anthropic

client = Anthropic(base_url=${literal(origin)}, api_key=${literal(apiKey)})
answer = client.messages.create(
${pythonArguments(anthropicRequest(inputs))}
)
print(answer.content[0].text)`
}

function formatAnthropicJs(inputs: SnippetInputs): string {
  const { origin, apiKey } = inputs
  return `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: ${literal(origin)}, apiKey: ${literal(apiKey)} })
const answer = await client.messages.create({
${scriptFields(anthropicRequest(inputs))}
})
console.log(answer.content[0].text)`
}

type Fields = Readonly<Record<string, unknown>>

/** Images are megabytes long: the program contains a placeholder instead. */
const spoken = (said: readonly Said[]): Said[] =>
  said
    .filter(({ text }) => text !== '')
    .map(({ role, text, images = [] }) =>
      images.length === 0 ? { role, text } : { role, text, images: ['data:image/png;base64,…'] },
    )

function openAiRequest({ model, draft }: SnippetInputs): Fields {
  const asked = draft === undefined ? [] : spoken(draft.said)
  const built = draft && buildRequest(model, asked, draft.settings)
  if (built?.kind === 'built' && asked.length > 0) return built.request
  const messages = [{ role: 'user', content: question }]
  if (built?.kind !== 'built') return { model, messages }
  return { ...built.request, messages: [...built.request.messages, ...messages] }
}

/**
 * The same in the other dialect: the system prompt is a field, tools have another format, there is
 * no seed.
 */
function anthropicRequest({ model, draft }: SnippetInputs): Fields {
  const asked =
    draft === undefined ? [] : spoken(draft.said).map(({ role, text }) => ({ role, content: text }))
  const messages = asked.length === 0 ? [{ role: 'user', content: question }] : asked
  if (draft === undefined) return { model, max_tokens: 200, messages }
  const { system } = draft.settings
  const { max_completion_tokens, stop, tools, temperature, top_p } = readParameters(draft.settings)
  return {
    ...{ model, max_tokens: max_completion_tokens ?? 512 },
    ...(system.trim() === '' ? {} : { system }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(stop === undefined ? {} : { stop_sequences: stop }),
    ...(Array.isArray(tools) ? { tools: tools.map(anthropicTool) } : {}),
    messages,
  }
}

function readParameters(settings: ChatSettings): Fields {
  try {
    return parametersOf(settings)
  } catch {
    return {} // half typed: the form reports it on submit
  }
}

function anthropicTool(tool: { readonly function?: Fields } | undefined): Fields {
  const { name, description, parameters } = tool?.function ?? {}
  return { name, ...(description === undefined ? {} : { description }), input_schema: parameters }
}

const isShort = (value: unknown) => JSON.stringify(value).length <= 80

const scriptFields = (fields: Fields): string =>
  Object.entries(fields)
    .map(([name, value]) => `  ${name}: ${scriptValue(value)},`)
    .join('\n')

/** Idiomatic JavaScript: names without quotes where possible. */
function scriptValue(value: unknown, indent = '  '): string {
  if (Array.isArray(value)) {
    const items = value.map((one) => scriptValue(one, `${indent}  `))
    return isShort(value)
      ? `[${items.join(', ')}]`
      : `[\n${items.map((one) => `${indent}  ${one},\n`).join('')}${indent}]`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const named = Object.entries(value).map(([name, one]) => {
    const key = /^[a-z_$][\w$]*$/i.test(name) ? name : literal(name)
    return `${key}: ${scriptValue(one, `${indent}  `)}`
  })
  return isShort(value)
    ? `{ ${named.join(', ')} }`
    : `{\n${named.map((one) => `${indent}  ${one},\n`).join('')}${indent}}`
}

const pythonArguments = (fields: Fields): string =>
  Object.entries(fields)
    .map(([name, value]) => `    ${name}=${pythonValue(value)},`)
    .join('\n')

function pythonValue(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const named = Object.entries(value).map(([name, one]) => `${literal(name)}: ${pythonValue(one)}`)
  return `{${named.join(', ')}}`
}

function formatClaudeCode({ origin, model, apiKey, caFile }: SnippetInputs): string {
  return [
    `export ANTHROPIC_BASE_URL=${shellWord(origin)}`,
    `export ANTHROPIC_AUTH_TOKEN=${shellWord(apiKey)}`,
    `export ANTHROPIC_MODEL=${shellWord(model)}`,
    `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${shellWord(model)}`,
    'export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1',
    ...(caFile === undefined ? [] : [`export NODE_EXTRA_CA_CERTS=${shellWord(caFile)}`]),
    'claude',
  ].join('\n')
}

function formatOpencode({ origin, model, apiKey }: SnippetInputs): string {
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    name: 'Privatemode',
    options: { baseURL: `${origin}/v1`, apiKey },
    models: { [model]: { name: model } },
  }
  const config = {
    $schema: 'https://opencode.ai/config.json',
    provider: { privatemode: provider },
    model: `privatemode/${model}`,
  }
  return JSON.stringify(config, null, 2)
}

function python(name: string, code: string, { caFile }: SnippetInputs): SnippetStep[] {
  const authority = caFile === undefined ? '' : `SSL_CERT_FILE=${shellWord(caFile)} `
  return [
    { do: 'Install', text: `pip install ${name}` },
    { do: 'Save as hello.py', text: code },
    { do: 'Run', text: `${authority}python hello.py` },
  ]
}

function javascript(name: string, code: string, inputs: SnippetInputs): SnippetStep[] {
  return [
    { do: 'Install', text: `npm install ${name}` },
    { do: 'Save as hello.mjs', text: code },
    { do: 'Run', text: `${nodeAuthority(inputs)}node hello.mjs` },
  ]
}

const nodeAuthority = ({ caFile }: SnippetInputs) =>
  caFile === undefined ? '' : `NODE_EXTRA_CA_CERTS=${shellWord(caFile)} `
