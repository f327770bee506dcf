/** What each token gives access to, and nothing else. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { parseSettings } from '../settings.ts'
import { registrationFields } from '../testing/scripted-worker.ts'
import {
  adminToken,
  registerToken,
  startTestGateway,
  type TestGateway,
  tokenArgs,
} from '../testing/test-gateway.ts'

const metricsToken = 'metrics-token-for-tests'
let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({ args: ['--metrics', '--metricsToken', metricsToken] })
})
afterAll(() => gateway.stop())

async function status(token: string, method: string, path: string, body?: object): Promise<number> {
  const response = await fetch(gateway.gateway.url + path, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  await response.text()
  return response.status
}

type Call = readonly [kind: string, method: string, path: string, own: string, body?: object]
const base = '/privatemode/v1/'
const calls: readonly Call[] = [
  ['admin', 'GET', `${base}admin/keys`, adminToken],
  ['admin', 'POST', `${base}admin/keys`, adminToken, { name: 'made' }],
  ['admin', 'GET', `${base}admin/workers`, adminToken],
  ['register', 'PUT', `${base}registry/workers/w_1`, registerToken, registrationFields('http://w')],
  ['register', 'POST', `${base}registry/usage`, registerToken, { records: [] }],
  ['register', 'DELETE', `${base}registry/workers/w_1`, registerToken],
  ['metrics', 'GET', '/metrics', metricsToken],
]

test.each(calls.map((call) => [call[0], `${call[1]} ${call[2]}`, call] as const))(
  'only the %s token gives access to %s',
  async (_kind, _name, [, method, path, own, body]) => {
    const tokens = [adminToken, registerToken, metricsToken, 'none']
    for (const other of tokens.filter((token) => token !== own)) {
      expect([other, await status(other, method, path, body)]).toEqual([other, 401])
    }
    expect(await status(own, method, path, body)).toBeLessThan(300)
  },
)

test('tokens must differ, and the former operator token is refused with the remedy', () => {
  const parse = (args: readonly string[], env: Record<string, string> = {}) =>
    parseSettings({ args, env })
  const same = ['--adminToken', adminToken, '--registerToken', adminToken]
  expect(() => parse(same)).toThrow('must differ')
  expect(() => parse([...tokenArgs, '--metricsToken', registerToken])).toThrow('must differ')
  const remedy =
    'to a token of at least 32 characters, or to @path of a file that contains one (openssl rand -hex 32 creates one)'
  expect(() => parse(['--adminToken', adminToken])).toThrow(`set --registerToken ${remedy}`)
  expect(() => parse(['--adminToken', 'short'])).toThrow(`set --adminToken ${remedy}`)
  for (const args of [['--operatorToken', adminToken], [`--operatorToken=${adminToken}`]]) {
    expect(() => parse(args)).toThrow('operatorToken was split: set --adminToken')
  }
  const env = { PRIVATEMODE_GATEWAY_OPERATOR_TOKEN: adminToken }
  expect(() => parse(tokenArgs, env)).toThrow('operatorToken was split')
})
