import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatEvidenceBundle, publishEntry, verifyLatest } from '@privatemode/attestation'
import { defaultMaxLogAgeHours } from '../../../../packages/attestation/src/log/freshness.ts'
import type { JsonObject } from '../../../../packages/attestation/src/strict-json.ts'
import {
  type HardwareRequest,
  hardwareWorld,
} from '../../../../packages/attestation/src/testing/hardware-world.ts'
import { MemoryLog, newSigner } from '../../../../packages/attestation/src/testing/memory-log.ts'
import {
  receiptSigner,
  softwareBundle,
} from '../../../../packages/attestation/src/testing/software-bundle.ts'
import { softwareWorld } from '../../../../packages/attestation/src/testing/software-world.ts'
import { testNow } from '../../../../packages/attestation/src/testing/test-authority.ts'
import { scoreBundle } from './score-bundle.ts'
import { scoreCommand } from './score-command.ts'
import { formatScoreTable } from './score-table.ts'

const pair = generateKeyPairSync('ed25519')
const receiptKey = new Uint8Array(
  pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32),
)
const world = await hardwareWorld(receiptKey)
const chip = Buffer.from(Array.from({ length: 64 }, (_, index) => 255 - index)).toString('hex')
const snp = { ...world.snpRule, chip_ids: [chip] }
const tdx = {
  ...world.tdxRule,
  min_tcb_evaluation_data_number: 18,
  platform_ids: ['99'.repeat(16)],
  mr_seam: ['5e'.repeat(48)],
}

async function hardwareBundle(request: HardwareRequest) {
  const roles = { worker: { accept: [snp, tdx] } }
  const { nonce, statement, evidence, manifest, roots, revocation } = await world.inputs({
    draft: { roles },
    ...request,
  })
  const signer = await newSigner('log.example')
  const log = new MemoryLog()
  await publishEntry(log, signer, manifest.bytes, { at: testNow })
  const trust = { logKey: signer.verifierKey, witnesses: [], quorum: 0 }
  const latest = await verifyLatest({ ...trust, read: log.read, remembered: undefined })
  const bytes = new Uint8Array(statement)
  const bundle = formatEvidenceBundle({
    madeAt: testNow,
    nonce: new Uint8Array(nonce),
    statement: bytes,
    evidence,
    manifest: manifest.bytes,
    logProof: latest.proof,
    receipt: await receiptSigner(bytes, pair.privateKey)({ worker_id: 'w_hardware' }),
  })
  const maxAgeHours = defaultMaxLogAgeHours
  const manifestTrust = { kind: 'log', trust, maxAgeHours } as const
  return { bundle, inputs: { manifestTrust, roots, revocation, at: testNow } }
}

const scoreOf = async (request: HardwareRequest) => {
  const { bundle, inputs } = await hardwareBundle(request)
  return scoreBundle(bundle, undefined, inputs)
}
type Scored = Awaited<ReturnType<typeof scoreOf>>
const verdictsOf = ({ factors }: Scored) =>
  Object.fromEntries(factors.map(({ factor, verdict }) => [factor, verdict]))

const software = await softwareBundle(await softwareWorld())

describe('a backend on hardware of a test vendor', () => {
  test.each(['snp', 'tdx'] as const)('is assessed by 45 factors (%s)', async (cpu) => {
    const score = await scoreOf({ cpu })
    expect(score.refusal).toBeUndefined()
    expect(score.factors).toHaveLength(45)
    expect(new Set(score.factors.map(({ factor }) => factor)).size).toBe(45)
    for (const { verdict, evidence } of score.factors) {
      // A pass names the check that shows it.
      if (verdict === 'met') expect(evidence).toMatch(/^[a-z]+\/[a-z/0-9-]+: ./)
      else expect(evidence.length).toBeGreaterThan(10)
    }
    expect(verdictsOf(score)).toMatchObject({
      measured_model_weights: 'met',
      cpu_gpu_chain: 'met',
      build_transparency_log: 'met',
      cpu_id_registry: 'met',
      e2ee_usable: 'met',
      nvswitch_binding: 'not applicable',
      compose_binding: 'not checked',
      sigstore_verification: 'not met',
      event_log_integrity: 'not checked',
      gateway_nonce_match: 'not applicable',
    })
  })

  test('meets no factor that its manifest leaves open', async () => {
    const open = { draft: { roles: { worker: { accept: [world.snpRule, world.tdxRule] } } } }
    expect(verdictsOf(await scoreOf({ cpu: 'snp', ...open })).cpu_id_registry).toBe('not checked')
    expect(verdictsOf(await scoreOf({ cpu: 'tdx', ...open }))).toMatchObject({
      cpu_id_registry: 'not checked',
      tee_measurement: 'not checked',
      tee_tcb_current: 'not checked',
    })
  })

  test('that is refused meets no factor after the failed check', async () => {
    const wrong = { ...snp, measurements: ['00'.repeat(48)] }
    const score = await scoreOf({ draft: { roles: { worker: { accept: [wrong] } } } })
    expect(score.refusal).toContain('measurement_unknown')
    expect(verdictsOf(score)).toMatchObject({
      tee_quote_signature: 'met',
      tee_measurement: 'not met',
      measured_model_weights: 'not checked',
      e2ee_usable: 'not checked',
    })
  })

  test('without GPUs shows nothing about them', async () => {
    const { devices: _, ...without } = snp as JsonObject
    const score = await scoreOf({ gpus: [], draft: { roles: { worker: { accept: [without] } } } })
    expect(score.refusal).toBeUndefined()
    expect(verdictsOf(score)).toMatchObject({
      nvidia_signature: 'not applicable',
      cpu_gpu_chain: 'not applicable',
    })
  })
})

test('a trial backend meets no factor about hardware', async () => {
  const score = await scoreBundle(formatEvidenceBundle(software.bundle), undefined, software.inputs)
  expect(score.refusal).toBeUndefined()
  expect(verdictsOf(score)).toMatchObject({
    nonce_match: 'met',
    measured_model_weights: 'met',
    tee_quote_present: 'not met',
    tee_tcb_current: 'not met',
    nvidia_payload_present: 'not met',
  })
})

test('the document shows the verdicts of this code', async () => {
  const text = readFileSync(new URL('../../../../docs/scorecard.md', import.meta.url), 'utf8')
  const ours = {
    snp: await scoreOf({ cpu: 'snp' }),
    tdx: await scoreOf({ cpu: 'tdx' }),
    software: await scoreBundle(formatEvidenceBundle(software.bundle), undefined, software.inputs),
  }
  expect(text).toContain(formatScoreTable(ours))
})

describe('the command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'score-command-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'bundle.json')
  writeFileSync(path, formatEvidenceBundle(software.bundle))
  const { manifestTrust, roots } = software.inputs
  const logKey = manifestTrust.kind === 'log' ? manifestTrust.trust.logKey : ''
  let printed: string
  beforeEach(() => {
    printed = ''
  })
  const run = (...options: string[]) =>
    scoreCommand.run([path, '--at', '2026-03-01T12:00:00Z', '--log-key', logKey, ...options], {
      out: (text) => {
        printed += `${text}\n`
      },
      error: (text) => {
        printed += `error: ${text}\n`
      },
    })
  const trusting = ['--software-root', roots.software[0] ?? '']

  test('prints every factor, the sum and the verdict', async () => {
    expect(await run(...trusting)).toBe(0)
    expect(printed.trim().split('\n')).toHaveLength(45 + 3)
    expect(printed).toMatch(/^ 1 {2}met {13}nonce_match/m)
    expect(printed).toMatch(/^\d+ of 45 met, \d+ not met, \d+ not checked, \d+ not applicable$/m)
    expect(printed).toContain('VERIFIED')
    expect(await run(...trusting, '--json')).toBe(0)
  })

  test('refuses what bundle verify refuses, with exit code 1', async () => {
    expect(await run()).toBe(1)
    expect(printed).toContain('REFUSED: software/verifier')
    expect(await run(...trusting, '--gateway', path)).toBe(1)
    writeFileSync(path, '{}')
    expect(await run()).toBe(1)
    expect(printed).toContain('bundle_malformed')
    writeFileSync(path, formatEvidenceBundle(software.bundle))
  })
})
