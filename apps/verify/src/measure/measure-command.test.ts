/** The command itself; the values are tested next to the calculators. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { measureCommand } from './measure-command.ts'

const vector = (path: string) =>
  fileURLToPath(new URL(`../../../../test/vectors/measure/${path}`, import.meta.url))

async function run(...args: string[]) {
  const lines: string[] = []
  const errors: string[] = []
  const output = {
    out: (text: string) => lines.push(text),
    error: (text: string) => errors.push(text),
  }
  const exitCode = await measureCommand.run(args, output).catch((error) => error)
  return { lines: lines.map((line) => JSON.parse(line)), errors, exitCode }
}

const firmware = ['--firmware', vector('snp-suffix/ovmf_AmdSev_suffix.bin')]

test('a launch digest is printed for every model and number of vCPUs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-measure-'))
  try {
    const empty = join(folder, 'empty')
    writeFileSync(empty, '')
    const files = [
      ...firmware,
      '--kernel',
      empty,
      '--initrd',
      empty,
      '--cmdline',
      'console=ttyS0 loglevel=7',
    ]
    const { lines } = await run('snp', ...files, '--vcpus', '1', '--cpu', 'EPYC-v4')
    const measurement =
      '6d287813eb5222d770f75005c664e34c204f385ce832cc2ce7d0d6f354454362f390ef83a92046c042e706363b4b08fa'
    expect(lines).toEqual([{ cpu: 'EPYC-v4', vcpus: 1, measurement }])
    expect((await run('snp', ...files)).lines.length).toBe(28)
    writeFileSync(join(folder, 'line'), 'console=ttyS0 loglevel=7')
    const fromFile = [...firmware, '--kernel', empty, '--cmdline', `@${join(folder, 'line')}`]
    const again = await run('snp', ...fromFile, '--vcpus', '1', '--cpu', 'EPYC-v4')
    expect(again.lines[0].measurement).toBe(measurement)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('an event log is replayed', async () => {
  const { lines, exitCode } = await run('log', vector('ccel/coco-direct-boot.bin'))
  expect(exitCode).toBe(0)
  expect(lines[0].rtmr0).toStartWith('8566f998798db09443b244c62de9a304')
})

test('a file that is not firmware or a log is refused with exit code 1', async () => {
  const file = fileURLToPath(import.meta.url)
  expect(await run('snp', '--firmware', file)).toMatchObject({ exitCode: 1, lines: [] })
  expect(await run('log', file)).toMatchObject({ exitCode: 1, lines: [] })
})

test('invalid calls are usage errors', async () => {
  for (const args of [
    [],
    ['snp'],
    ['snp', ...firmware, '--cpu', 'Itanium'],
    ['snp', ...firmware, '--vcpus', '0'],
    ['snp', ...firmware, '--hypervisor', 'xen'],
    ['snp', ...firmware, '--cmdline', 'ro'],
    ['tdx', ...firmware],
    ['log'],
  ]) {
    const { exitCode } = await run(...args)
    expect(exitCode).toMatchObject({ name: 'UsageError' })
  }
})
