import { expect, test } from 'bun:test'
import { createNoteSigner, hardwareVerifiers, vendorRoots } from '@privatemode/attestation'
import { webCryptoProvider } from '@privatemode/protocol/envelope'
import { rejection } from '../../../test/rejection.ts'
import { chooseDefaultSalt } from './cache-salt.ts'
import { type CoreConnectOptions, clientOptions } from './connect-options.ts'
import { checkpointsIn, memoryStorage, webStorage } from './log-storage.ts'
import { acceptSoftware } from './software.ts'

const good: CoreConnectOptions = {
  apiKey: 'pm_key',
  endpoint: 'https://gateway.example/base/',
  manifest: { logKey: 'log.example+00000000+AAAA' },
  hardware: {},
}

test.each([
  ['no API key', { apiKey: '' }],
  ['an API key with a line break', { apiKey: 'pm_a\nb' }],
  ['an API key that is too long', { apiKey: 'a'.repeat(513) }],
  ['no endpoint', { endpoint: '' }],
  ['an endpoint that is not a URL', { endpoint: 'gateway' }],
  ['an endpoint with another scheme', { endpoint: 'ftp://gateway.example' }],
  ['an endpoint over plain http', { endpoint: 'http://gateway.example' }],
  ['an endpoint over plain http that only looks local', { endpoint: 'http://127.0.0.1.example' }],
  ['an endpoint over plain http in the same network', { endpoint: 'http://10.0.0.7:8090' }],
  ['a time limit of zero', { timeouts: { silenceMs: 0 } }],
  ['a time limit that no timer holds', { timeouts: { totalMs: 2 ** 31 } }],
  ['an endpoint with a query', { endpoint: 'https://gateway.example/?a=1' }],
  ['no log key', { manifest: { logKey: '' } }],
  ['a limit of zero bytes', { maxAnswerBytes: 0 }],
  ['a limit that is not a number', { maxAnswerBytes: Number.NaN }],
  ['a log that is not a URL', { manifest: { logKey: 'k', url: 'there' } }],
])('%s is refused before anything is sent', (_, over) => {
  const attempt = () => clientOptions({ ...good, ...over })
  expect(attempt).toThrow(expect.objectContaining({ code: 'invalid_options', retryable: false }))
})

test('an API key is not quoted when it is refused', async () => {
  const attempt = async () => clientOptions({ ...good, apiKey: 'pm_secret\n' })
  const refused = (await rejection(attempt())) as Error
  expect(`${refused.message} ${refused.cause}`).not.toContain('pm_secret')
})

test('the longest time limit is that of a timer', () => {
  const timeouts = { firstByteMs: 2 ** 31 - 1, silenceMs: 2 ** 31 - 1, totalMs: 2 ** 31 - 1 }
  expect(clientOptions({ ...good, timeouts }).timeouts).toEqual(timeouts)
})

test('by default, only the pinned vendor roots are trusted, and no software', () => {
  const options = clientOptions({ ...good, hardware: hardwareVerifiers })
  expect(options.roots).toEqual({ ...vendorRoots, software: [] })
  const { snp } = hardwareVerifiers
  const { amd, intel, nvidiaDevice, nvidiaRim } = clientOptions({
    ...good,
    hardware: { snp },
  }).roots
  expect({ amd, others: [intel, nvidiaDevice, nvidiaRim] }).toEqual({
    ...{ amd: vendorRoots.amd, others: [[], [], []] },
  })
  expect(options.software).toBeUndefined()
  expect(options.shape).toBe('default')
  expect(options.maxAnswerBytes).toBe(256 * 1024 * 1024)
  expect(clientOptions({ ...good, maxAnswerBytes: 1000 }).maxAnswerBytes).toBe(1000)
  expect(options.endpoint).toBe('https://gateway.example/base')
})

test('plain http is accepted only for endpoints on this machine', () => {
  for (const endpoint of ['http://localhost:8090', 'http://127.0.0.1:8090', 'http://[::1]:8090']) {
    expect(clientOptions({ ...good, endpoint }).endpoint).toBe(endpoint)
  }
})

test('software is accepted only with both its verifier and its roots, never with roots alone', () => {
  const options = clientOptions({ ...good, software: acceptSoftware('ab'.repeat(32)) })
  expect(options.roots.software).toEqual(['ab'.repeat(32)])
  expect(options.software).toBeDefined()
  const smuggled = { ...vendorRoots, software: ['ab'.repeat(32)] }
  expect(clientOptions({ ...good, roots: smuggled }).roots.software).toEqual([])
})

test('the log is read from the endpoint unless it is hosted elsewhere', async () => {
  const asked: string[] = []
  const fetch = async (url: string) => {
    asked.push(url)
    return new Response(null, { status: 404 })
  }
  const { verifierKey: logKey } = await createNoteSigner('log.example')
  for (const manifest of [{ logKey }, { logKey, url: 'https://log.example/files/' }]) {
    const { manifestSource } = clientOptions({ ...good, fetch, manifest })
    expect(await rejection(manifestSource.load())).toMatchObject({ code: 'log_unreachable' })
  }
  expect(asked).toEqual([
    'https://gateway.example/base/privatemode/v1/log/checkpoint',
    'https://log.example/files/checkpoint',
  ])
})

test('salts: fresh ones are left to the worker, a random one lasts, a given one is used', () => {
  expect(chooseDefaultSalt('isolated', webCryptoProvider)).toBeUndefined()
  const random = chooseDefaultSalt('shared-random', webCryptoProvider)
  expect(random).toMatch(/^[0-9a-f]{64}$/)
  expect(chooseDefaultSalt('shared-random', webCryptoProvider)).not.toBe(random)
  expect(chooseDefaultSalt({ shared: 'team' }, webCryptoProvider)).toBe('team')
})

test('checkpoints of different logs are stored separately, in any storage', async () => {
  const texts = new Map<string, string>()
  const local = {
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, value: string) => void texts.set(key, value),
  }
  for (const storage of [memoryStorage(), webStorage(local)]) {
    const [one, two] = [checkpointsIn(storage, 'log one'), checkpointsIn(storage, 'log two')]
    expect(await one.load()).toBeUndefined()
    await one.save(new TextEncoder().encode('a note — signed\n'))
    expect(await one.load()).toEqual(new TextEncoder().encode('a note — signed\n'))
    expect(await two.load()).toBeUndefined()
  }
})
