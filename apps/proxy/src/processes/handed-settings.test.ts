import { expect, test } from 'bun:test'
import { createDefaultSalt } from '../inbound/cache-salt.ts'
import { readSettings, type Settings } from '../settings.ts'
import { handSettings, receiveSettings } from './handed-settings.ts'

const base = ['--apiEndpoint', 'api.test:443', '--manifestLogKey', 'log+key', '--workers', '2']
const secret = 's'.repeat(40)

function read(...args: string[]): Settings {
  const result = readSettings({ args: [...base, ...args], env: {} })
  if (result.kind !== 'settings') throw new Error(result.kind)
  return result.settings
}

const travel = (settings: Settings) => JSON.parse(JSON.stringify(handSettings(settings)))

test.each([
  ['the defaults', []],
  ['every secret', ['--apiKey', 'k', '--sharedPromptCache', '--promptCacheSalt', secret]],
  ['files', ['--tlsCertPath', 'c', '--tlsKeyPath', 'k', '--manifestPath', 'm']],
  ['software', ['--allowSoftwareAttestation', '--softwareRootFingerprint', 'a'.repeat(64)]],
  ['hosted', ['--hosted', '--hostedSaltSecret', secret, '--tlsCertPath', 'c', '--tlsKeyPath', 'k']],
])('settings arrive unchanged: %s', (_name, args) => {
  const settings = read(...args)
  const received = receiveSettings(travel(settings))
  expect(received).toEqual(settings)
  expect(received.apiKey?.reveal()).toBe(settings.apiKey?.reveal())
  const [salt, original] = [received.salt, settings.salt].map((one) =>
    createDefaultSalt(one)('key'),
  )
  expect(salt).toBe(original)
})

test('a random salt is generated once, before it is handed out', () => {
  const handed = travel(read('--sharedPromptCache'))
  const [one, other] = [handed, handed].map((same) =>
    createDefaultSalt(receiveSettings(same).salt)('key'),
  )
  expect(Buffer.from(one ?? '', 'base64')).toHaveLength(32)
  expect(other).toBe(one)
  expect(travel(read('--sharedPromptCache')).salt.secret).not.toBe(one)
})
