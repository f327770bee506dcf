/** Rebuilds the source named in a manifest, from repositories with a build of a few lines. */
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatManifest } from '@privatemode/attestation'
import { formatMachineRecord } from '@privatemode/attestation/measure'
import { checkManifest } from '../manifest/check-manifest.ts'
import { measureSnp } from '../measure/measurements.ts'
import { rebuildCommand } from './rebuild-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-rebuild-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const firmwarePath = fileURLToPath(
  new URL('../../../../test/vectors/measure/snp-suffix/ovmf_AmdSev_suffix.bin', import.meta.url),
)
const commandLine = 'ro pm.variant=production'
const debugCommandLine = 'ro pm.variant=debug'
const host = { cpu: 'EPYC-Milan', vcpus: 2 } as const
const root = 'ab'.repeat(32)

/** A source whose build writes a machine with `initrd` as its initial ramdisk. */
function commitSource(name: string, initrd: string): { source: string; revision: string } {
  const source = join(folder, name)
  mkdirSync(join(source, 'scripts'), { recursive: true })
  writeFileSync(join(source, 'scripts', 'task.mjs'), buildScript(initrd))
  const git = (...args: string[]) => {
    const all = ['git', '-C', source, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args]
    const { exitCode, stdout } = Bun.spawnSync(all)
    expect(exitCode).toBe(0)
    return stdout.toString().trim()
  }
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '-m', 'source')
  return { source, revision: git('rev-parse', 'HEAD') }
}

const buildScript = (initrd: string) => `
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
const [task, config, , out] = process.argv.slice(2)
if (task !== 'build:machine') throw new Error(task)
mkdirSync(out, { recursive: true })
const files = {
  'firmware-snp.fd': readFileSync(${JSON.stringify(firmwarePath)}),
  'firmware-tdx.fd': '', kernel: 'kernel', initrd: ${JSON.stringify(initrd)},
  cmdline: ${JSON.stringify(commandLine)}, 'config.json': readFileSync(config),
}
const artefacts = {}
for (const [name, content] of Object.entries(files)) {
  writeFileSync(out + '/' + name, content)
  artefacts[name] = { sha256: createHash('sha256').update(content).digest('hex'), size: content.length }
}
writeFileSync(out + '/machine.json', JSON.stringify({ variant: 'production', artefacts,
  source: { revision: 'x', version: '0' }, weights: { tiny: '${root}' },
  debugCommandLine: ${JSON.stringify(debugCommandLine)} }))
`

async function measure(initrd: string, line: string): Promise<string> {
  const text = (words: string) => new TextEncoder().encode(words)
  const boot = { kernel: text('kernel'), initrd: text(initrd), commandLine: line }
  const shape = { ...host, hypervisor: 'qemu', sevFeatures: 1n } as const
  const firmware = new Uint8Array(readFileSync(firmwarePath))
  const [one] = await measureSnp(firmware, boot, [shape])
  return one?.measurement ?? ''
}

function writeManifest(
  name: string,
  measurement: string,
  { revision, digest = root, line = commandLine }: Record<string, string>,
): string {
  const path = join(folder, `${name}.json`)
  const record = {
    source: { repository: undefined, revision: revision ?? '' },
    config: { port: 8095 },
    commandLine: line,
    snp: [host],
    tdx: [],
    limits: ['host_acpi'] as const,
  }
  const rule = {
    kind: 'snp',
    measurements: [measurement],
    minimum_tcb: { Milan: { bootloader: 1, tee: 0, snp: 1, microcode: 1 } },
    signers: ['vcek'],
    guest_policy: { allow: ['smt'], require: [] },
    platform: { allow: ['smt'], require: [] },
  }
  const manifest = formatManifest({
    issuedAt: '2026-01-01T00:00:00Z',
    expiresAt: '2026-12-01T00:00:00Z',
    serial: 1,
    evidence: 'hardware',
    roles: { worker: { accept: [rule] } },
    models: [
      {
        id: 'tiny',
        digest: `sha256:${digest}`,
        tasks: ['generate'],
        contextLength: 256,
        displayName: 'Tiny',
        created: 0,
      },
    ],
    machine: formatMachineRecord(record),
  })
  writeFileSync(path, manifest)
  return path
}

async function run(command: typeof rebuildCommand, ...args: string[]) {
  const lines: string[] = []
  const output = {
    out: (text: string) => void lines.push(text),
    error: (text: string) => void lines.push(text),
  }
  const code = await command.run(args, output)
  return { code, text: lines.join('\n') }
}

test('a source that yields the listed values is confirmed', async () => {
  const { source, revision } = commitSource('good', 'initrd')
  const manifest = writeManifest('good', await measure('initrd', commandLine), { revision })
  const { code, text } = await run(rebuildCommand, manifest, '--source', source)
  expect(text).toContain('all 2 values of the manifest come from this source')
  expect(text).toContain('EPYC-Milan, 2 vCPUs')
  expect(code).toBe(0)
})

test('the source may be a relative path; its build runs in its own checkout', async () => {
  const { source, revision } = commitSource('relative', 'initrd')
  const manifest = writeManifest('relative', await measure('initrd', commandLine), { revision })
  // Through a folder that exists here only: from elsewhere, the path leads nowhere.
  const given = `apps/../${relative(process.cwd(), source)}`
  const { code, text } = await run(rebuildCommand, manifest, '--source', given)
  expect(text).toContain('all 2 values of the manifest come from this source')
  expect(code).toBe(0)
})

test('another source, a debug launch or another model is detected', async () => {
  const { source, revision } = commitSource('other', 'initrd with a back door')
  const other = writeManifest('other', await measure('initrd', commandLine), { revision })
  const rebuilt = await run(rebuildCommand, other, '--source', source)
  expect(rebuilt.text).toContain('unexplained  SNP measurement')
  expect(rebuilt.code).toBe(1)

  const out = join(folder, 'machine')
  const good = commitSource('debug', 'initrd')
  const debug = writeManifest('debug', await measure('initrd', debugCommandLine), good)
  const launched = await run(rebuildCommand, debug, '--source', good.source, '--out', out)
  expect(launched.text).toContain('DEBUG        SNP measurement')
  expect(launched.code).toBe(1)
  // The same with `manifest check`, for an existing machine.
  const at = ['--at', '2026-02-01T00:00:00Z']
  const checked = await run(checkManifest, debug, '--machine', out, ...at)
  expect(checked.text).toContain('DEBUG')
  expect(checked.code).toBe(1)

  const model = writeManifest('model', await measure('initrd', commandLine), {
    ...good,
    digest: 'cd'.repeat(32),
  })
  const compared = await run(checkManifest, model, '--machine', out, ...at)
  expect(compared.text).toContain('unexplained  digest of model tiny')
  expect(compared.code).toBe(1)
  const fine = writeManifest('fine', await measure('initrd', commandLine), good)
  const accepted = await run(checkManifest, fine, '--machine', out, ...at)
  expect(accepted.text).toContain('limit: ')
  expect(accepted.text).toContain('good: serial 1')
  expect(accepted.code).toBe(0)
})

test('a manifest with a non-production machine is refused', async () => {
  const manifest = writeManifest('variant', '00'.repeat(48), {
    revision: 'a'.repeat(40),
    line: debugCommandLine,
  })
  const error = await run(checkManifest, manifest, '--at', '2026-02-01T00:00:00Z').catch((e) => e)
  expect(error.message).toContain('not for production')
})

test('a source that cannot be fetched or lacks the commit proves nothing', async () => {
  const { source } = commitSource('missing', 'initrd')
  const manifest = writeManifest('missing', '00'.repeat(48), { revision: 'a'.repeat(40) })
  const lacking = await run(rebuildCommand, manifest, '--source', source)
  expect(lacking.text).toContain('checking out')
  expect(lacking.code).toBe(3)
  const nowhere = await run(rebuildCommand, manifest, '--source', join(folder, 'nowhere'))
  expect(nowhere.code).toBe(3)
  const unnamed = await run(rebuildCommand, manifest).catch((e) => e)
  expect(unnamed.message).toContain('names no repository')
})
