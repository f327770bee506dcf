/** The client refuses workers that a gateway invents or passes off as others. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { formatAttestation, parseAttestation, reportData } from '@privatemode/attestation'
import {
  createSoftwareRoot,
  issueSoftwareLeaf,
  produceSoftwareEvidence,
} from '@privatemode/attestation/software/producer'
import { codeOf, startHostileWorld } from './hostile-world.ts'

const world = await startHostileWorld()
const { system, gateway, newClient, ask } = world
afterAll(world.stop, 90_000)
afterEach(() => gateway.play({}))

describe('a hostile gateway that lies about workers', () => {
  const attest = (workerId: string, nonce: string) =>
    fetch(`${system.gatewayUrl}/privatemode/v1/workers/${workerId}/attestation`, {
      method: 'POST',
      headers: { authorization: `Bearer ${system.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ nonce }),
    })

  test('passes one worker off as another', async () => {
    const [first] = system.workers
    gateway.play({
      directory: ({ workers, models }) => ({
        workers: workers.map((worker) => ({ ...worker, id: 'w_impostor' })).slice(0, 1),
        models,
      }),
      attestation: (_id, nonce) => attest(first!.workerId, nonce),
    })
    expect(await codeOf(ask(newClient()))).toBe('attestation_refused')
  })

  test('replays evidence that was made for another nonce', async () => {
    const recorded = await (await attest(system.workers[0]!.workerId, 'ab'.repeat(32))).text()
    gateway.play({ attestation: async () => new Response(recorded) })
    expect(await codeOf(ask(newClient()))).toBe('attestation_refused')
  })

  test('puts a statement with its own key under genuine evidence', async () => {
    gateway.play({
      attestation: async (id, nonce) => {
        const bytes = new Uint8Array(await (await attest(id, nonce)).arrayBuffer())
        const { statement, evidence } = parseAttestation(bytes)
        const text = new TextDecoder().decode(statement).replace('"engine":"', '"engine":"evil ')
        const forged = { statement: new TextEncoder().encode(text), evidence }
        return new Response(formatAttestation(forged))
      },
    })
    expect(await codeOf(ask(newClient()))).toBe('attestation_refused')
  })

  test('attests with a root of its own', async () => {
    const at = new Date()
    const root = await createSoftwareRoot({ name: 'test root', at, days: 2 })
    const leaf = await issueSoftwareLeaf(root, { name: 'test worker', at, days: 1 })
    gateway.play({
      attestation: async (id, nonce) => {
        const bytes = new Uint8Array(await (await attest(id, nonce)).arrayBuffer())
        const { statement } = parseAttestation(bytes)
        const nonceBytes = new Uint8Array(Buffer.from(nonce, 'hex'))
        const bound = await reportData({ nonce: nonceBytes, statement, deviceReports: [] })
        const measurement = new Uint8Array(Buffer.from(system.measurement, 'hex'))
        const cpu = await produceSoftwareEvidence(leaf, { measurement, reportData: bound })
        return new Response(formatAttestation({ statement, evidence: { cpu, devices: [] } }))
      },
    })
    expect(await codeOf(ask(newClient()))).toBe('attestation_refused')
  })

  test('invents models, which are not shown', async () => {
    gateway.play({
      directory: ({ workers, models }) => ({
        workers: workers.map((worker) => ({ ...worker, models: [...worker.models, 'gpt-9'] })),
        models: [...models, { id: 'gpt-9' }],
      }),
    })
    const client = newClient()
    const shown = await client.models(system.apiKey)
    expect(shown.map(({ id }) => id)).not.toContain('gpt-9')
    expect(shown.map(({ id }) => id)).toContain('org/chat-1')
  })

  test('lists no worker at all, which is an error', async () => {
    gateway.play({ directory: () => ({ workers: [], models: [] }) })
    expect(await codeOf(ask(newClient()))).toBe('no_worker')
  })
})
