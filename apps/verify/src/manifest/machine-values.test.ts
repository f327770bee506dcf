/** Values of a built machine in a manifest. */
import { afterAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readMachineValues } from './machine-values.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-machine-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const firmware = readFileSync(
  fileURLToPath(
    new URL('../../../../test/vectors/measure/snp-suffix/ovmf_AmdSev_suffix.bin', import.meta.url),
  ),
)
const root = 'ab'.repeat(32)

/** A published digest is known for this firmware with an empty kernel, initial ramdisk and command line. */
function writeMachine(variant: string, revision = 'c'.repeat(40)): string {
  const files = {
    'firmware-snp.fd': firmware,
    'firmware-tdx.fd': Buffer.alloc(0),
    kernel: Buffer.alloc(0),
    initrd: Buffer.alloc(0),
    cmdline: Buffer.alloc(0),
    'config.json': Buffer.from('{"port":8095}'),
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  const artefacts = Object.fromEntries(
    Object.entries(files).map(([name, content]) => [
      name,
      { sha256: createHash('sha256').update(content).digest('hex'), size: content.length },
    ]),
  )
  const index = {
    variant,
    source: { revision, version: '0' },
    debugCommandLine: 'pm.variant=debug',
    artefacts,
    weights: { tiny: root },
  }
  writeFileSync(join(folder, 'machine.json'), JSON.stringify(index))
  return folder
}

const shape = { cpu: ['EPYC-v4'], vcpus: ['1'] }

test("rules and models without values get the machine's launch digests and root hashes", async () => {
  const values = await readMachineValues({ machine: [writeMachine('production')], ...shape })
  const measurement =
    'ddc5224521617a536ee7ce9dd6224d1b58a8d4fda1c741f3ac99fc4bfa04ba6e9fc98646d4a07a9079397fa3852819b5'
  const kept = { kind: 'snp', measurements: ['x'] }
  expect(values?.fillRules([{ kind: 'snp' }, kept, { kind: 'tdx' }])).toEqual([
    { kind: 'snp', measurements: [measurement] },
    kept,
    { kind: 'tdx' },
  ])
  expect(values?.fillModel({ id: 'tiny' })).toEqual({ id: 'tiny', digest: `sha256:${root}` })
  expect(values?.fillModel({ id: 'tiny', digest: 'x' })).toEqual({ id: 'tiny', digest: 'x' })
  expect(values?.fillModel({ id: 'other' })).toEqual({ id: 'other' })
})

test('the manifest contains all that is needed to rebuild the machine', async () => {
  const values = await readMachineValues({
    machine: [writeMachine('production')],
    repository: ['https://git.example/privatemode'],
    ...shape,
  })
  expect(values?.record).toEqual({
    source: { repository: 'https://git.example/privatemode', revision: 'c'.repeat(40) },
    config: { port: 8095 },
    command_line: '',
    snp: [{ cpu: 'EPYC-v4', vcpus: 1 }],
    tdx: [],
    limits: ['host_acpi'],
  })
})

test('a machine built from uncommitted changes is refused', async () => {
  const folder = writeMachine('production', `${'c'.repeat(40)}-dirty`)
  const error = await readMachineValues({ machine: [folder], ...shape }).catch((e) => e)
  expect(error.message).toContain('which cannot be rebuilt by others')
})

test('a machine for tests or debugging, or with changed files, is refused', async () => {
  for (const variant of ['software', 'debug', 'other']) {
    const error = await readMachineValues({ machine: [writeMachine(variant)] }).catch((e) => e)
    expect(error).toMatchObject({ name: 'UsageError' })
  }
  writeMachine('production')
  writeFileSync(join(folder, 'kernel'), 'another')
  const error = await readMachineValues({ machine: [folder] }).catch((e) => e)
  expect(error.message).toContain('the index says')
  const alone = await readMachineValues(shape).catch((e) => e)
  expect(alone.message).toContain('needs --machine')
})
