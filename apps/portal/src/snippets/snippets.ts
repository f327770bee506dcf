/** Code to paste: one snippet for each client, with the visitor's own endpoint, model and key. */
import { shellWord } from './shell-word.ts'

export type SnippetInputs = {
  /** Origin of the proxy or of the proxyless endpoint. */
  readonly origin: string
  readonly model: string
  /** What stands where a key stands; a proxy with a key of its own ignores it. */
  readonly apiKey: string
  /** The authority of the endpoint, where systems do not know it. */
  readonly caFile: string | undefined
  /** Of the model, in tokens, where it is known. */
  readonly contextLength?: number | undefined
}

export type SnippetId =
  | 'curl'
  | 'openai-python'
  | 'openai-js'
  | 'anthropic-python'
  | 'anthropic-js'
  | 'claude-code'
  | 'opencode'

/** What is done in order: install something, save a file, run a command. */
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

/** Their instructions and tool descriptions alone fill several thousand tokens. */
const shortestAgentContext = 16_384

/** Said before it is tried: an agent with a short context fails in ways that do not name the cause. */
function contextNote({ contextLength }: SnippetInputs): string {
  if (contextLength === undefined || contextLength >= shortestAgentContext) return ''
  const tokens = (count: number) => count.toLocaleString('en')
  return ` (this model's context of ${tokens(contextLength)} tokens is too short for coding agents, which need about ${tokens(shortestAgentContext)})`
}

const question = 'Write one sentence about the sea.'
/** JSON is also a string literal in JavaScript and Python, whatever the text contains. */
const literal = (text: string) => JSON.stringify(text)

function formatCurl({ origin, model, apiKey, caFile }: SnippetInputs): string {
  const body = { model, stream: true, messages: [{ role: 'user', content: question }] }
  const authority = caFile === undefined ? '' : `--cacert ${shellWord(caFile)} `
  return [
    `curl -N ${authority}${shellWord(`${origin}/v1/chat/completions`)} \\`,
    `  -H 'content-type: application/json' \\`,
    `  -H ${shellWord(`authorization: Bearer ${apiKey}`)} \\`,
    `  -d ${shellWord(JSON.stringify(body))}`,
  ].join('\n')
}

function formatOpenAiPython({ origin, model, apiKey }: SnippetInputs): string {
  return `from openai import OpenAI

client = OpenAI(base_url=${literal(`${origin}/v1`)}, api_key=${literal(apiKey)})
answer = client.chat.completions.create(
    model=${literal(model)},
    messages=[{"role": "user", "content": ${literal(question)}}],
)
print(answer.choices[0].message.content)`
}

function formatOpenAiJs({ origin, model, apiKey }: SnippetInputs): string {
  return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${literal(`${origin}/v1`)}, apiKey: ${literal(apiKey)} })
const answer = await client.chat.completions.create({
  model: ${literal(model)},
  messages: [{ role: 'user', content: ${literal(question)} }],
})
console.log(answer.choices[0].message.content)`
}

function formatAnthropicPython({ origin, model, apiKey }: SnippetInputs): string {
  return `from anthropic import Anthropic

client = Anthropic(base_url=${literal(origin)}, api_key=${literal(apiKey)})
answer = client.messages.create(
    model=${literal(model)},
    max_tokens=200,
    messages=[{"role": "user", "content": ${literal(question)}}],
)
print(answer.content[0].text)`
}

function formatAnthropicJs({ origin, model, apiKey }: SnippetInputs): string {
  return `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: ${literal(origin)}, apiKey: ${literal(apiKey)} })
const answer = await client.messages.create({
  model: ${literal(model)},
  max_tokens: 200,
  messages: [{ role: 'user', content: ${literal(question)} }],
})
console.log(answer.content[0].text)`
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
