import { describe, expect, test } from 'bun:test'
import type { Home } from './home.ts'
import { prepareEngine } from './prepare-models.ts'
import { parseSettings, program, type Settings } from './settings.ts'

function parse(...args: string[]): Settings {
  const parsed = parseSettings({ args, env: {} })
  if (parsed.kind !== 'settings') throw new Error('settings expected')
  return parsed.settings
}

const url = 'http://127.0.0.1:8000'
const engineArguments = (settings: Settings) =>
  prepareEngine(
    {} as Home,
    settings,
    () => {},
    new AbortController().signal,
    () => {},
  )

describe('a model server', () => {
  test('replaces every embedded model, even if none is requested', async () => {
    const settings = parse('--engineUrl', url, '--embedModel', 'none')
    expect(await engineArguments(settings)).toEqual(['--engineUrl', url])
  })

  test('cannot be combined with an embedded model', () => {
    for (const flag of ['--chatModel', '--embedModel'])
      expect(() => parse('--engineUrl', url, flag, 'x.gguf')).toThrow('brings its own models')
  })

  test('that shares its cache is used if the operator accepts it', async () => {
    const settings = parse('--engineUrl', url, '--acceptSharedCache')
    expect(await engineArguments(settings)).toEqual(['--engineUrl', url, '--acceptSharedCache'])
    expect(() => parse('--acceptSharedCache')).toThrow('needs --engineUrl')
  })
})

describe('models from elsewhere', () => {
  test("Hugging Face and Ollama's directory are configured by their usual variables", () => {
    const env = { HF_ENDPOINT: 'https://mirror.test/', HF_TOKEN: 'hf_x', OLLAMA_MODELS: '/srv/o' }
    const parsed = parseSettings({ args: [], env })
    if (parsed.kind !== 'settings') throw new Error('settings expected')
    const { huggingFace, ollamaModels } = parsed.settings
    expect(huggingFace.endpoint).toBe('https://mirror.test')
    expect(huggingFace.token?.reveal()).toBe('hf_x')
    expect(ollamaModels).toBe('/srv/o')
    expect(parse().huggingFace).toEqual({ endpoint: 'https://huggingface.co', token: undefined })
    expect(parse().isDefaultModel).toBe(true)
    expect(parse('--chatModel', 'ollama:qwen3').isDefaultModel).toBe(false)
  })
})

test('help and version name the program, mistakes the command that shows help', () => {
  const asked = (flag: string) => parseSettings({ args: [flag], env: {} })
  const title = `npm start (Privatemode ${program.version})\n`
  expect(asked('--version')).toEqual({ kind: 'text', text: title })
  expect(asked('--help')).toMatchObject({
    text: expect.stringMatching(/^npm start \(Privatemode [\d.]+\)\n/),
  })
  expect(() => parse('--nothing')).toThrow('see npm start -- --help')
})
