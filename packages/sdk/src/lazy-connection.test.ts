import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PrivatemodeAnthropic } from './anthropic.ts'
import { resolveSettings } from './client-settings.ts'
import { PrivatemodeOpenAI } from './openai.ts'
import { PrivatemodeError } from './privatemode-error.ts'
import { acceptSoftware } from './software.ts'

const names = ['API_KEY', 'ENDPOINT', 'LOG_KEY', 'SOFTWARE_ROOT', 'HOME']
let before: [string, string | undefined][] = []
let home = ''

beforeEach(() => {
  before = names.map((name) => [`PRIVATEMODE_${name}`, process.env[`PRIVATEMODE_${name}`]])
  for (const [name] of before) delete process.env[name]
  home = mkdtempSync(join(tmpdir(), 'privatemode-settings-'))
})

afterEach(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  rmSync(home, { recursive: true })
})

function writeHome(): void {
  const file = { endpoint: 'http://127.0.0.1:9', logKey: 'log+1+a', softwareRoot: 'ab'.repeat(32) }
  writeFileSync(join(home, 'client.json'), JSON.stringify(file))
  writeFileSync(join(home, 'api-key'), 'pm_home\n')
  process.env.PRIVATEMODE_HOME = home
}

function errorOf(work: () => unknown): PrivatemodeError {
  try {
    work()
  } catch (error) {
    if (error instanceof PrivatemodeError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

test('settings come from the options, then the environment, then client.json', () => {
  writeHome()
  expect(resolveSettings({})).toMatchObject({
    apiKey: 'pm_home',
    endpoint: 'http://127.0.0.1:9',
    manifest: { logKey: 'log+1+a' },
  })
  process.env.PRIVATEMODE_API_KEY = 'pm_environment'
  expect(resolveSettings({}).apiKey).toBe('pm_environment')
  expect(resolveSettings({ apiKey: 'pm_option' }).apiKey).toBe('pm_option')
})

test('software evidence is accepted only if the program says so, whatever the settings contain', () => {
  writeHome()
  expect(resolveSettings({}).software).toBeUndefined()
  const { software } = resolveSettings({ software: acceptSoftware })
  expect(software?.roots).toEqual(['ab'.repeat(32)])
})

test('a missing setting is reported with where it was looked for, before anything is sent', () => {
  const error = errorOf(() => new PrivatemodeOpenAI({ endpoint: 'https://gateway.example' }))
  expect(error.code).toBe('invalid_options')
  expect(error.message).toBe(
    'manifest is missing: pass manifest, or set PRIVATEMODE_LOG_KEY or PRIVATEMODE_HOME',
  )
  process.env.PRIVATEMODE_HOME = join(home, 'elsewhere')
  expect(errorOf(() => resolveSettings({})).message).toContain('elsewhere/client.json')
})

test('a client.json in the current directory is not read implicitly', () => {
  const folder = process.cwd()
  writeHome()
  delete process.env.PRIVATEMODE_HOME
  process.chdir(home)
  try {
    expect(errorOf(() => resolveSettings({})).code).toBe('invalid_options')
  } finally {
    process.chdir(folder)
  }
})

test('plain http to another machine is refused when the client is created', () => {
  const manifest = { logKey: 'l' }
  const endpoint = 'http://gateway.example'
  const error = errorOf(() => new PrivatemodeAnthropic({ apiKey: 'k', endpoint, manifest }))
  expect(error.message).toContain('plain http to another machine')
})

test('creating a client sends nothing; its first call reports what is unreachable, and where', async () => {
  const asked: string[] = []
  const network = async (url: string) => {
    asked.push(url)
    throw new TypeError('connection refused')
  }
  const endpoint = 'https://gateway.example'
  const options = { apiKey: 'k', endpoint, manifest: { logKey: 'l' }, network, maxRetries: 0 }
  const openai = new PrivatemodeOpenAI(options)
  const anthropic = new PrivatemodeAnthropic(options)
  expect(asked).toEqual([])
  const request = { model: 'm', messages: [{ role: 'user' as const, content: 'a' }] }
  const first = await openai.chat.completions.create(request).catch((error) => error)
  expect(first).toBeInstanceOf(PrivatemodeOpenAI.APIError)
  expect([first.status, first.code]).toEqual([502, 'gateway_unreachable'])
  expect(first.message).toContain('https://gateway.example')
  expect(first.message).toContain('connection refused')
  const other = await anthropic.messages.create({ ...request, max_tokens: 9 }).catch((e) => e)
  expect(other).toBeInstanceOf(PrivatemodeAnthropic.APIError)
  expect(other.message).toContain('https://gateway.example')
  const direct = await openai.verified().catch((error) => error)
  expect(direct.code).toBe('gateway_unreachable')
})

test('a client with other options shares the connection and its verification', async () => {
  let asked = 0
  const network = async () => {
    asked++
    throw new TypeError('connection refused')
  }
  const options = { apiKey: 'k', endpoint: 'https://g.example', manifest: { logKey: 'l' }, network }
  const client = new PrivatemodeOpenAI(options)
  const patient = client.withOptions({ timeout: 1000, maxRetries: 0 })
  expect(patient.timeout).toBe(1000)
  const waiting = [client.verified(), patient.verified()].map((one) => one.catch((e) => e.code))
  expect(await Promise.all(waiting)).toEqual(['gateway_unreachable', 'gateway_unreachable'])
  expect(asked).toBe(1)
})
