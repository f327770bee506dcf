import { expect, test } from 'bun:test'
import { type AttestedWorker, parseStatement } from '@privatemode/attestation'
import {
  encodeText,
  establishSession,
  ReplayGuard,
  sealRequest,
} from '@privatemode/protocol/envelope'
import { workerPaths } from '@privatemode/protocol/fleet'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { rejection } from '../../../../test/rejection.ts'
import { SealKeys } from '../sealed/seal-keys.ts'
import { statementFacts } from '../testing/statement-facts.ts'
import { acceptProvision } from './accept-provision.ts'
import { RegisterToken } from './register-token.ts'

async function newWorker() {
  const keys = new SealKeys(statementFacts, () => new Date())
  const token = new RegisterToken()
  const { statement, statementDigest } = await keys.current()
  const { workerId, sealKey } = await parseStatement(statement)
  const worker = { workerId, sealKey, statementDigest } as unknown as AttestedWorker
  const session = await establishSession(worker)
  let requests = 0
  const seal = async (body: string, path: string = workerPaths.provision) => {
    const requestId = new Uint8Array(16).fill(++requests)
    const context = { requestId, issuedAtMs: Date.now(), method: 'POST', path, model: '' }
    const head = { headers: {}, shape: 'default' } as const
    return (await sealRequest(nativeCrypto, [session], context, head, encodeText(body))).bytes
  }
  return { provisioning: { keys, guard: new ReplayGuard(), token }, token, seal }
}

test('a sealed token is accepted, and a repeated message is not', async () => {
  const { provisioning, token, seal } = await newWorker()
  const bytes = await seal('{"register_token":"one"}')
  await acceptProvision(provisioning, bytes)
  expect(token.current().reveal()).toBe('one')
  const again = await rejection(acceptProvision(provisioning, bytes))
  expect(again).toMatchObject({ code: 'malformed' })
})

test('a sealed prompt is not accepted as a register token', async () => {
  const { provisioning, token, seal } = await newWorker()
  const bytes = await seal('{"register_token":"one"}', '/v1/chat/completions')
  const refused = await rejection(acceptProvision(provisioning, bytes))
  expect(refused).toMatchObject({ code: 'malformed' })
  expect(() => token.current()).toThrow()
})

test('a message for another worker cannot be opened', async () => {
  const { seal } = await newWorker()
  const { provisioning } = await newWorker()
  const refused = await rejection(acceptProvision(provisioning, await seal('{}')))
  expect(refused).toMatchObject({ code: 'malformed' })
})

test.each([
  'no JSON',
  '{}',
  '{"register_token":""}',
  '{"register_token":"two words"}',
  '{"register_token":"line\\r\\nx: y"}',
  JSON.stringify({ register_token: 'x'.repeat(5000) }),
])('%p is not a register token', async (body) => {
  const { provisioning, seal } = await newWorker()
  const refused = await rejection(acceptProvision(provisioning, await seal(body)))
  expect(refused).toMatchObject({ code: 'malformed' })
})

test('a token that a gateway accepted is not replaced', async () => {
  const { provisioning, token, seal } = await newWorker()
  await acceptProvision(provisioning, await seal('{"register_token":"one"}'))
  await acceptProvision(provisioning, await seal('{"register_token":"two"}'))
  token.accepted()
  const refused = await rejection(
    acceptProvision(provisioning, await seal('{"register_token":"three"}')),
  )
  expect(refused).toMatchObject({ code: 'not_found' })
  expect(token.current().reveal()).toBe('two')
})
