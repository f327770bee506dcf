import { afterAll, beforeEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hardwareWorld } from '../../../../packages/attestation/src/testing/hardware-world.ts'
import { testTcbInfo } from '../../../../packages/attestation/src/testing/test-intel.ts'
import { rejection, thrown } from '../../../../test/rejection.ts'
import { UsageError } from '../command.ts'
import { vectorCases } from '../testing/vector-cases.ts'
import { manifestCommand } from './manifest-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'manifest-command-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const path = (name: string) => join(folder, name)

let printed: string
let complained: string
beforeEach(() => {
  printed = ''
  complained = ''
})
const run = (...args: string[]) =>
  manifestCommand.run(args, {
    out: (text) => {
      printed += `${text}\n`
    },
    error: (text) => {
      complained += `${text}\n`
    },
  })

const world = await hardwareWorld()
const weights = 'weights of a model'
writeFileSync(path('weights.bin'), weights)
const model = {
  id: 'chat-small',
  file: 'weights.bin',
  tasks: ['generate'],
  context_length: 2048,
  display_name: 'Chat, small',
  created: 1_760_000_000,
}
const reference = (changes: object = {}) => ({
  evidence: 'hardware',
  worker: [world.snpRule, world.tdxRule],
  models: [model],
  ...changes,
})
const build = async (name: string, changes: object = {}, ...options: string[]) => {
  writeFileSync(path(`${name}.reference`), JSON.stringify(reference(changes)))
  const serial = options.includes('--previous') ? [] : ['--serial', '1']
  const at = ['--at', '2026-01-31T12:00:00Z']
  return run('build', path(`${name}.reference`), ...at, '--out', path(name), ...serial, ...options)
}

test('a manifest is built from reference values, with the digest of the weights', async () => {
  expect(await build('first')).toBe(0)
  const manifest = JSON.parse(readFileSync(path('first'), 'utf8'))
  expect(manifest).toMatchObject({ version: 1, serial: 1, issued_at: '2026-01-31T12:00:00Z' })
  const digest = createHash('sha256').update(weights).digest('hex')
  expect(manifest.models[0].digest).toBe(`sha256:${digest}`)
  expect(manifest.models[0].file).toBeUndefined()
  expect(manifest.expires_at).toBe('2026-05-01T12:00:00Z')
  expect(await run('check', path('first'), '--at', '2026-05-01T11:59:59Z')).toBe(0)
  expect(printed).toContain('good: serial 1, hardware evidence, sha256:')
})

test('a manifest states its expiry; without one it causes a warning, or is refused', async () => {
  await build('short', {}, '--days', '7')
  const at = (time: string) => ['--at', time, '--strict']
  expect(await run('check', path('short'), ...at('2026-02-07T11:59:59Z'))).toBe(0)
  expect(await run('check', path('short'), ...at('2026-02-07T12:00:00Z'))).toBe(1)
  expect(complained).toContain('manifest_expired')
  await build('endless', {}, '--no-expiry')
  expect(await run('check', path('endless'))).toBe(0)
  expect(printed).toContain('warning: it does not expire')
  expect(await run('check', path('endless'), '--strict')).toBe(1)
  expect(complained).toContain('refused: it does not expire')
  await build('long', {}, '--days', '367')
  expect(await run('check', path('long'), ...at('2026-03-01T12:00:00Z'))).toBe(1)
  expect(await rejection(build('none', {}, '--days', '0'))).toBeInstanceOf(UsageError)
  expect(await run('diff', path('short'), path('endless'))).toBe(1)
  expect(printed).toContain('no longer: expires at 2026-02-07T12:00:00.000Z')
})

test('the serial follows the previous manifest', async () => {
  await build('first')
  await build('second', {}, '--previous', path('first'))
  expect(JSON.parse(readFileSync(path('second'), 'utf8')).serial).toBe(2)
})

test('reference values that clients would refuse are not written', async () => {
  expect(await build('bad', { worker: [] })).toBe(1)
  expect(complained).toContain('manifest_malformed')
  expect(existsSync(path('bad'))).toBe(false)
  expect(await build('mixed', { evidence: 'software' })).toBe(1)
  expect(complained).toContain('manifest_mixed')
  expect(await rejection(build('unknown', { wokrer: [] }))).toBeInstanceOf(UsageError)
  expect(
    await rejection(build('both', {}, '--previous', path('first'), '--serial', '9')),
  ).toBeInstanceOf(UsageError)
})

test('a file that is not a manifest is refused with its name and the reason', async () => {
  writeFileSync(path('newer'), '{"version":2}')
  expect(await run('check', path('newer'))).toBe(1)
  expect(complained).toContain(`${path('newer')}: manifest.version: 2, expected 1`)
  expect(complained).toContain('update the proxy to the latest version')
  expect(await rejection(run('check', path('absent')))).toBeInstanceOf(UsageError)
  expect(await rejection(run('check'))).toBeInstanceOf(UsageError)
})

test('a manifest is explained in plain words, down to every value', async () => {
  await build('first')
  expect(await run('explain', path('first'))).toBe(0)
  for (const sentence of [
    'accepts protected hardware only',
    'Workers, which read prompts: rule 1, AMD SEV-SNP',
    'Workers, which read prompts: rule 2, Intel TDX',
    `may run the guest measured as ${'ab'.repeat(48)}`,
    'may be a Genoa processor with firmware of at least bootloader 10, tee 1, snp 23, microcode 84',
    'must have ecc in its platform',
    'must have 1 to 2 NVIDIA GPUs, all different',
    'must have the GPU driver 550.90.07 or a later one',
    'must have no service TD',
    'chat-small ("Chat, small", generate, context 2048',
  ]) {
    expect(printed).toContain(sentence)
  }
})

test('the explanation of a software manifest says that nothing protects the prompts', async () => {
  const rule = {
    kind: 'software',
    measurements: ['ab'.repeat(48)],
    root: 'cd'.repeat(32),
    minimum_tcb: 1,
  }
  await build('soft', { evidence: 'software', worker: [rule], proxyless: [rule] })
  await run('explain', path('soft'))
  expect(printed).toContain('nothing protects prompts from the operator')
  expect(printed).toContain(
    'The hosted proxy, which reads prompts of proxyless clients: rule 1, software attestation',
  )
})

test('every change of a value shows between two manifests', async () => {
  await build('first')
  expect(await run('diff', path('first'), path('first'))).toBe(0)
  expect(printed).toContain('the same document')
  const measurement = '11'.repeat(48)
  const worker = [{ ...world.snpRule, measurements: [measurement] }, world.tdxRule]
  await build('second', { worker, session_minutes: 30 }, '--previous', path('first'))
  expect(await run('diff', path('first'), path('second'))).toBe(1)
  expect(printed).toContain(`no longer: may run the guest measured as ${'ab'.repeat(48)}`)
  expect(printed).toContain(`new:       may run the guest measured as ${measurement}`)
  expect(printed).toContain('no longer: makes clients verify a worker again after 55 minutes')
  expect(printed).not.toContain('Intel TDX')
})

test('white space makes a different document with the same meaning', async () => {
  await build('first')
  writeFileSync(path('spaced'), `${readFileSync(path('first'), 'utf8')} `)
  expect(await run('diff', path('first'), path('spaced'))).toBe(0)
  expect(printed).toContain('different bytes, the same meaning')
})

test('a key is created once, readable by its owner only', async () => {
  expect(await run('key', '--name', 'log.example', '--out', path('log.key'))).toBe(0)
  expect(printed).toMatch(/^log\.example\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}\n$/)
  expect(readFileSync(path('log.key'), 'utf8')).toStartWith('PRIVATE+KEY+log.example+')
  expect(statSync(path('log.key')).mode & 0o077).toBe(0)
  const again = run('key', '--name', 'log.example', '--out', path('log.key'))
  expect(await rejection(again)).toBeInstanceOf(UsageError)
  expect(await rejection(run('key', '--name', 'a b', '--out', path('x')))).toBeInstanceOf(
    UsageError,
  )
})

test('manifests are published one after the other, and serials must increase', async () => {
  await run('key', '--name', 'log.example', '--out', path('publish.key'))
  await run('key', '--name', 'w1', '--out', path('w1.key'), '--for', 'witness')
  const publish = (name: string, ...more: string[]) =>
    run('publish', path(name), '--log', path('log'), '--key', path('publish.key'), ...more)
  await build('first')
  expect(await publish('first')).toBe(0)
  expect(await publish('first')).toBe(0)
  expect(printed).toContain('serial 1 published as entry 0 of log.example')
  expect(printed).toContain('serial 1 is already entry 0 of log.example')
  await build('same-serial', { session_minutes: 7 })
  expect(await thrown(publish('same-serial'))).toThrow('the latest manifest of the log has 1')
  await build('second', { session_minutes: 7 }, '--previous', path('first'))
  expect(await publish('second', '--witness-key', path('w1.key'))).toBe(0)
  const checkpoint = readFileSync(path('log/checkpoint'), 'utf8')
  expect(checkpoint).toStartWith('log.example\n2\n')
  expect(checkpoint).toContain('\n— w1 ')
  expect(existsSync(path('log/tile/entries/000.p/2'))).toBe(true)
  expect(existsSync(path('log/.publishing'))).toBe(false)
})

test('a log can be signed again without a new entry, as by a timer', async () => {
  await run('key', '--name', 'log.example', '--out', path('timer.key'))
  const where = ['--log', path('timed'), '--key', path('timer.key')]
  expect(await run('publish', '--refresh', ...where)).toBe(1)
  expect(complained).toContain('publish a manifest first')
  await build('first')
  await run('publish', path('first'), ...where)
  const before = readFileSync(path('timed/checkpoint'), 'utf8')
  await Bun.sleep(1_001) // a signature has whole seconds
  expect(await run('publish', '--refresh', ...where)).toBe(0)
  expect(printed).toContain('log.example: entry with serial 1 re-signed at 2')
  expect(printed).toContain('warning: that manifest expires at 2026-05-01')
  const after = readFileSync(path('timed/checkpoint'), 'utf8')
  expect(after.split('\n').slice(0, 5)).toEqual(before.split('\n').slice(0, 5))
  expect(after).not.toBe(before)
  expect(existsSync(path('timed/tile/entries/000.p/2'))).toBe(false)
  expect(await thrown(run('publish', '--refresh', path('first'), ...where))).toThrow('unknown')
})

test('a second publisher is locked out unless the first has died, and a manifest for another log is not published', async () => {
  await run('key', '--name', 'log.example', '--out', path('other.key'))
  await build('first')
  const busy = join(folder, 'busy')
  mkdirSync(busy)
  writeFileSync(join(busy, '.publishing'), '')
  const second = run('publish', path('first'), '--log', busy, '--key', path('other.key'))
  expect(await thrown(second)).toThrow('another publisher is at work')
  const longAgo = new Date(Date.now() - 11 * 60_000)
  utimesSync(join(busy, '.publishing'), longAgo, longAgo)
  expect(await run('publish', path('first'), '--log', busy, '--key', path('other.key'))).toBe(0)
  const logKey = `log.example+00000000+${'A'.repeat(44)}`
  await build('elsewhere', { log_key: logKey })
  const other = run('publish', path('elsewhere'), '--log', path('x'), '--key', path('other.key'))
  expect(await thrown(other)).toThrow('the manifest is for the log')
})

test('a folder that cannot be written is named, with the user who tried', async () => {
  await run('key', '--name', 'log.example', '--out', path('unwritable.key'))
  await build('first')
  const log = path('first/log') // below a file
  const refused = run('publish', path('first'), '--log', log, '--key', path('unwritable.key'))
  const user = process.getuid?.()
  expect(await thrown(refused)).toThrow(`cannot write to ${log} as user ${user}: ENOTDIR`)
})

test('an unknown subcommand is a usage error', async () => {
  expect(await thrown(run('burn'))).toThrow('build|check|explain|diff|enroll|key|publish')
})

test('TDX rules get the highest known TCB recovery, unless they have their own', async () => {
  const minimumOf = (name: string) =>
    JSON.parse(readFileSync(path(name), 'utf8')).roles.worker.accept.map(
      (rule: { min_tcb_evaluation_data_number?: number }) => rule.min_tcb_evaluation_data_number,
    )
  await build('filled')
  expect(minimumOf('filled')).toEqual([undefined, 19])
  const own = { worker: [{ ...world.tdxRule, min_tcb_evaluation_data_number: 7 }] }
  await build('own', own)
  expect(minimumOf('own')).toEqual([7])
  const info = { ...testTcbInfo(), tcbEvaluationDataNumber: 23 }
  writeFileSync(path('tcb-info'), JSON.stringify({ tcbInfo: info, signature: '00' }))
  await build('told', {}, '--tcb-info', path('tcb-info'))
  expect(minimumOf('told')).toEqual([undefined, 23])
  await build('after', {}, '--previous', path('told'))
  expect(minimumOf('after')).toEqual([undefined, 23])
  expect(await thrown(build('none', {}, '--tcb-info', path('weights.bin')))).toThrow('no TCB info')
})

test('a TDX rule without a minimum TCB recovery causes a warning, or is refused', async () => {
  await build('first')
  expect(await run('check', path('first'), '--at', '2026-02-01T00:00:00Z', '--strict')).toBe(0)
  const manifest = JSON.parse(readFileSync(path('first'), 'utf8'))
  delete manifest.roles.worker.accept[1].min_tcb_evaluation_data_number
  writeFileSync(path('open'), JSON.stringify(manifest))
  const check = ['check', path('open'), '--at', '2026-02-01T00:00:00Z']
  expect(await run(...check)).toBe(0)
  expect(printed).toContain('warning: rule 2 of role worker has no min_tcb_evaluation_data_number')
  expect(await run(...check, '--strict')).toBe(1)
  expect(complained).toContain('refused: rule 2 of role worker')
})

const vectors = fileURLToPath(new URL('../../../../test/vectors', import.meta.url))
const enroll = (evidence: string, type: string, at: string, ...options: string[]) =>
  run('enroll', join(vectors, evidence), '--type', type, '--at', at, ...options)
const milan = [
  ...['--cert', join(vectors, 'snp/virtee-milan/vcek.der')],
  ...['--cert', join(vectors, 'snp/amd-roots/ask_ark_milan.pem')],
]

test('a machine is enrolled by its evidence, and the change is shown', async () => {
  await build('first')
  const next = (from: string, to: string) => ['--previous', path(from), '--out', path(to)]
  const report = 'snp/virtee-milan/report.hex'
  const issued = ['--issued', '2026-02-10T12:00:00Z']
  expect(
    await enroll(
      report,
      'snp',
      '2025-06-15T00:00:00Z',
      ...milan,
      ...next('first', 'e2'),
      ...issued,
    ),
  ).toBe(0)
  const second = JSON.parse(readFileSync(path('e2'), 'utf8'))
  expect(second).toMatchObject({
    serial: 2,
    issued_at: '2026-02-10T12:00:00Z',
    expires_at: '2026-05-11T12:00:00Z',
  })
  const [chip] = second.roles.worker.accept[0].chip_ids
  expect(chip).toMatch(/^[0-9a-f]{128}$/)
  expect(second.roles.worker.accept[1].chip_ids).toBeUndefined()
  expect(printed).toContain(`added to chip_ids: ${chip}`)
  expect(await run('diff', path('first'), path('e2'))).toBe(1)
  expect(printed).toContain(`new:       may have the chip ${chip}`)
  expect(printed).toContain('no longer: may have ANY genuine chip in the world')
  await enroll(report, 'snp', '2025-06-15T00:00:00Z', ...milan, ...next('e2', 'e3'))
  expect(printed).toContain(`already in chip_ids: ${chip}`)

  const device = 'nvidia/attestation-sdk/switch_evidence_ls10.json'
  const at = '2026-06-01T00:00:00Z'
  expect(await thrown(enroll(device, 'nvidia-gpu', at, ...next('e2', 'e4')))).toThrow('give --rule')
  expect(await enroll(device, 'nvidia-gpu', at, ...next('e2', 'e4'), '--rule', '2')).toBe(0)
  const fourth = JSON.parse(readFileSync(path('e4'), 'utf8'))
  const { switch_serials } = fourth.roles.worker.accept[1].devices['nvidia-gpu']
  expect(switch_serials).toHaveLength(1)
  expect(fourth.roles.worker.accept[0].devices['nvidia-gpu'].switch_serials).toBeUndefined()
})

test('a TDX machine is enrolled by its PPID', async () => {
  await build('first')
  const one = vectorCases.find(({ file, code }) => file === 'tdx/phala/tdx_quote' && code === null)!
  const given = one.given.flatMap(([option, file]) => [`--${option}`, join(vectors, file)])
  const next = ['--previous', path('first'), '--out', path('e5')]
  expect(await enroll(one.file, 'tdx', one.at, ...given, ...next)).toBe(0)
  const [, tdx] = JSON.parse(readFileSync(path('e5'), 'utf8')).roles.worker.accept
  expect(tdx.platform_ids[0]).toMatch(/^[0-9a-f]{32}$/)
})

test('a machine that is not authentic, or has no matching rule, is not enrolled', async () => {
  await build('first')
  const next = ['--previous', path('first'), '--out', path('e6')]
  const report = 'snp/google-milan-vcek/report.bin'
  const files = ['google-milan-vcek/vcek.der', 'amd-roots/ask_ark_milan.pem']
  const chain = files.flatMap((name) => ['--cert', join(vectors, 'snp', name)])
  expect(await enroll(report, 'snp', '2025-06-15T00:00:00Z', ...chain, ...next)).toBe(1)
  expect(complained).toContain('debug_enabled')
  expect(existsSync(path('e6'))).toBe(false)
  const good = ['snp/virtee-milan/report.hex', 'snp', '2025-06-15T00:00:00Z', ...milan] as const
  expect(await thrown(enroll(...good, ...next, '--rule', '2'))).toThrow('rule 2 is not for snp')
  expect(await thrown(enroll(...good, ...next, '--role', 'proxyless'))).toThrow('no role proxyless')
  await build('tdx', { worker: [world.tdxRule] })
  const other = ['--previous', path('tdx'), '--out', path('e6')]
  expect(await thrown(enroll(...good, ...other))).toThrow('no rule for snp')
})
