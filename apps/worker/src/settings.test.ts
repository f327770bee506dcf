import { expect, test } from 'bun:test'
import { parseSettings } from './settings.ts'

function gatewayUrl(...args: string[]): string {
  const parsed = parseSettings({ args: ['--engineUrl', 'http://127.0.0.1:8000', ...args], env: {} })
  if (parsed.kind !== 'settings') throw new Error('no settings')
  return parsed.settings.gatewayUrl
}

test('an operator token is refused, and the error names its replacement', () => {
  const refused = "operatorToken was split: set --registerToken to the gateway's"
  expect(() => parseSettings({ args: ['--operatorToken', 'x'], env: {} })).toThrow(refused)
  const env = { PRIVATEMODE_WORKER_OPERATOR_TOKEN: 'x' }
  expect(() => parseSettings({ args: [], env })).toThrow(refused)
})

test('the register token is sent over TLS, except on this machine', () => {
  for (const url of [
    'https://gateway.example',
    'http://127.0.0.1:8090',
    'http://127.1.2.3:8090',
    'http://localhost:8090',
    'http://[::1]:8090',
  ]) {
    expect(gatewayUrl('--gatewayUrl', `${url}/`)).toBe(url)
  }
  for (const url of [
    'http://gateway:8090',
    'http://10.0.0.7:8090',
    'http://localhost.example:8090',
    'http://127.0.0.1.example:8090',
    'http://[::ffff:10.0.0.7]:8090',
    'HTTP://gateway:8090',
  ]) {
    expect(() => gatewayUrl('--gatewayUrl', url)).toThrow('would show the register token')
  }
})

test('an operator can allow plain HTTP in a protected network', () => {
  const url = 'http://gateway:8090'
  expect(gatewayUrl('--gatewayUrl', url, '--allowPlainGateway')).toBe(url)
})

test('an invalid gateway URL is refused', () => {
  for (const url of ['gateway:8090', 'ftp://gateway', 'nonsense']) {
    expect(() => gatewayUrl('--gatewayUrl', url)).toThrow('expected a URL such as https://')
  }
})
