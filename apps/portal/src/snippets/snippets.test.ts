import { expect, test } from 'bun:test'
import { defaultSettings, toolExample } from '../chat/build-request.ts'
import { formatProxyCommand } from './proxy-command.ts'
import { shellWord } from './shell-word.ts'
import { formatSnippet, type SnippetInputs, snippets } from './snippets.ts'

const inputs: SnippetInputs = {
  origin: 'https://ai.example.com:8443',
  model: 'org/chat-1',
  apiKey: 'pm_key',
  caFile: undefined,
}

test.each(snippets.map(({ id }) => [id] as const))('%s names endpoint, model and key', (id) => {
  const text = formatSnippet(id, inputs)
    .map((step) => step.text)
    .join('\n')
  for (const part of [inputs.origin, inputs.model, inputs.apiKey]) expect(text).toContain(part)
})

test.each(['it is', "it's", '$(rm)', '"', '`x`', 'a\nb', '\\', ''])(
  'a shell reads %j as one word and changes nothing in it',
  (text) => {
    const { stdout } = Bun.spawnSync(['sh', '-c', `printf %s ${shellWord(text)}`])
    expect(stdout.toString()).toBe(text)
  },
)

test('a hostile name cannot break out of any snippet', () => {
  const hostile = { ...inputs, model: `x'; touch /tmp/no; "${'`'}$(id)` }
  const code = formatSnippet('openai-js', hostile)[1]?.text ?? ''
  expect(code).toContain(JSON.stringify(hostile.model))
  const curl = formatSnippet('curl', hostile)[0]?.text ?? ''
  const { stdout } = Bun.spawnSync(['sh', '-c', curl.replace(/^curl/, 'printf "%s\\n"')])
  const body = stdout.toString().trim().split('\n').at(-1) ?? ''
  expect(JSON.parse(body)).toMatchObject({ model: hostile.model })
})

test("the endpoint's authority is named if systems do not know it", () => {
  const withCa = { ...inputs, caFile: '/home/me/my files/ca.pem' }
  const text = (id: (typeof snippets)[number]['id']) =>
    formatSnippet(id, withCa)
      .map((step) => step.text)
      .join('\n')
  expect(text('curl')).toContain(`--cacert '/home/me/my files/ca.pem'`)
  expect(text('openai-js')).toContain(`NODE_EXTRA_CA_CERTS='/home/me/my files/ca.pem'`)
  expect(text('anthropic-python')).toContain(`SSL_CERT_FILE='/home/me/my files/ca.pem'`)
})

test('a proxy command names host and port, and software attestation only if it is used', () => {
  const facts = {
    gatewayOrigin: 'https://ai.example.com',
    logKey: 'log+1+k',
    softwareRoot: undefined,
  }
  const command = formatProxyCommand(facts)
  expect(command).toContain('--apiEndpoint ai.example.com:443')
  expect(command).not.toContain('--allowSoftwareAttestation')
  const trial = { ...facts, gatewayOrigin: 'http://127.0.0.1:8090', softwareRoot: 'ab' }
  expect(formatProxyCommand(trial)).toContain('--apiEndpoint http://127.0.0.1:8090')
  expect(formatProxyCommand(trial)).toContain('--softwareRootFingerprint ab')
})

test('a warning appears only if the context is too short for an agent', () => {
  const told = (id: (typeof snippets)[number]['id'], contextLength?: number) =>
    formatSnippet(id, { ...inputs, contextLength })
      .map((step) => step.do)
      .join(' ')
  for (const id of ['claude-code', 'opencode'] as const) {
    expect(told(id, 2048)).toContain('2,048 tokens is too short for coding agents')
    expect(told(id, 200_000)).not.toContain('too short')
    expect(told(id)).not.toContain('too short')
  }
  expect(told('curl', 2048)).not.toContain('too short')
})

const draft = {
  said: [
    { role: 'user' as const, text: 'it\'s $(rm) `x` "q"', images: ['data:image/png;base64,AAAA'] },
    { role: 'assistant' as const, text: 'yes' },
    { role: 'user' as const, text: 'and now?' },
  ],
  settings: {
    ...{ ...defaultSettings, system: 'be\nbrief', temperature: '0.5', stop: 'END', seed: '7' },
    tools: toolExample,
  },
}

test('a conversation becomes the same request in curl and JavaScript', () => {
  const curl = formatSnippet('curl', { ...inputs, draft })[0]?.text ?? ''
  const { stdout } = Bun.spawnSync(['sh', '-c', curl.replace(/^curl/, 'printf "%s\\n"')])
  const body = JSON.parse(stdout.toString().trim().split('\n').at(-1) ?? '')
  expect(body).toMatchObject({ temperature: 0.5, seed: 7, stop: ['END'], stream: true })
  expect(body.messages.map(({ role }: { role: string }) => role)).toEqual([
    ...['system', 'user', 'assistant', 'user'],
  ])
  const script = formatSnippet('openai-js', { ...inputs, draft })[1]?.text ?? ''
  const literal = /create\(([\s\S]*)\)\nconsole/.exec(script)?.[1] ?? ''
  const { stream: _, ...same } = body
  expect(new Function(`return ${literal}`)()).toEqual(same)
})

test('in the other dialect the system prompt and the tools are placed correctly', () => {
  const script = formatSnippet('anthropic-js', { ...inputs, draft })[1]?.text ?? ''
  const literal = /create\(([\s\S]*)\)\nconsole/.exec(script)?.[1] ?? ''
  const request = new Function(`return ${literal}`)()
  expect(request).toMatchObject({ system: 'be\nbrief', stop_sequences: ['END'], max_tokens: 512 })
  expect(request.tools[0]).toMatchObject({ name: 'weather', input_schema: { type: 'object' } })
  expect(request.seed).toBeUndefined()
})

test('Python snippets use True and None', () => {
  const settings = { ...draft.settings, format: '{"strict":true,"x":null}' }
  const code = formatSnippet('openai-python', { ...inputs, draft: { ...draft, settings } })[1]?.text
  expect(code).toContain('response_format={"strict": True, "x": None}')
})
