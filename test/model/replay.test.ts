/** Ties the models to the code: plays what a model's attacker does against the real parts. */
import { expect, test } from 'bun:test'
import { EnvelopeError, ReplayGuard } from '@privatemode/protocol/envelope'
import { unlessMissing } from '@privatemode/service/testing'
import { missingTools } from './check-model.ts'
import { providerThatRefusesReuse } from './nonce-reuse.ts'
import { replaySession } from './replay-session.ts'
import { brokenSessions, drawGuardRun, findAttack, readTraces, type Step } from './traces.ts'

const { exchange, attacks, guard } = readTraces()
const missing = missingTools()
const needed = missing.length === 0 ? undefined : `${missing.join(' and ')} not installed`

test('the exchange that completes in the model also completes in the code', async () => {
  expect(exchange.map(([what]) => what)).toContain('whole')
  expect(await replaySession(exchange)).toEqual({ kind: 'agrees' })
})

test('there is an attack for every mutant of the session that breaks something', () => {
  expect(attacks.map(({ means }) => means)).toEqual(brokenSessions.map(({ means }) => means))
})

for (const { means, breaks } of brokenSessions) {
  test(`the code withstands the attack on a model in which ${means}`, async () => {
    const attack = attacks.find((one) => one.means === means)?.steps ?? []
    const replay = await replaySession(attack) // throws where a nonce is used twice
    // Where only a nonce would be reused, the attacker does nothing that is to be refused.
    if (breaks !== 'fresh nonces') expect(replay.kind).toBe('code refuses')
    expect(replay.kind).not.toBe('code accepts')
  })
}

test('a nonce that is used twice is detected', async () => {
  const key = await providerThatRefusesReuse().aeadKey(new Uint8Array(32))
  const [nonce, nothing] = [new Uint8Array(12), new Uint8Array()]
  await key.seal(nonce, nothing, [Uint8Array.of(1)])
  await key.seal(nonce, nothing, [Uint8Array.of(1)])
  expect(() => key.seal(nonce, nothing, [Uint8Array.of(2)])).toThrow('under one key and nonce')
})

test("the code's replay guard decides like the model's, at every step of randomly drawn runs", () => {
  const runs = guard.map(replayGuard)
  expect(runs.flat().filter(({ code, model }) => code !== model)).toEqual([])
  const accepted = runs.flat().filter(({ code }) => code === 'accept').length
  expect(accepted).toBeGreaterThan(20)
})

unlessMissing(needed).describe('traces as Spin makes them now', () => {
  test('are the ones that are kept: else npm run task -- model --write writes them', async () => {
    const [mutant] = brokenSessions.filter(({ without }) => without.join() === 'NO_NONCE')
    const kept = attacks.find(({ means }) => means === mutant?.means)
    expect(kept?.steps).toEqual(await findAttack(mutant!))
    expect(guard[0]).toEqual(await drawGuardRun(1))
  }, 120_000)
})

/** What model and code say to each delivery of a run; times are as small as the model's. */
function replayGuard(steps: readonly Step[]): { code: string; model: string }[] {
  let clock = steps[0]?.[1] ?? 0
  const limits = { maxAgeMs: 1, maxAheadMs: 1, maxRemembered: 1000 }
  const memory = new ReplayGuard(limits, () => clock)
  const fixed = { method: 'POST', path: '/v1/chat/completions', model: 'm' }
  return steps.slice(1).map(([model, id = 0, issuedAtMs = 0, now = 0]) => {
    clock = now
    try {
      memory.accept({ ...fixed, requestId: new Uint8Array(16).fill(id), issuedAtMs })
      return { model, code: 'accept' }
    } catch (error) {
      expect(error).toBeInstanceOf(EnvelopeError)
      return { model, code: 'refuse' }
    }
  })
}
