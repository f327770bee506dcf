/** The single-file executables: what they need, that they serve, and that two builds give the same bytes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { runtimeVariables } from '../../apps/proxy/src/runtime-variables.ts'
import { compileProxy } from '../../scripts/deploy/compile-proxy.ts'
import { repository } from '../../scripts/deploy/locked-package.ts'
import { findTarget } from '../../scripts/deploy/targets.ts'
import { type System, startSystem } from '../e2e/system.ts'
import { systemArgs } from '../proxy/proxy-process.ts'
import { checkPages, minimumMacOs } from './mach-o.ts'
import { startProgram } from './running-program.ts'
import { askThrough, storyEngine } from './sealed-question.ts'
import { unpackImage, version } from './unpacked-image.ts'

/** The program re-executes itself to configure its runtime, which a single-process emulator does not follow. */
const startOnce = [
  ...['env', 'BUN_CONFIG_MAX_HTTP_REQUESTS=256'],
  ...Object.entries(runtimeVariables).map(([name, value]) => `${name}=${value}`),
]
const binary = (name: string) => join(repository, 'dist', 'bin', `privatemode-proxy-${name}`)
const folder = mkdtempSync(join(tmpdir(), 'privatemode-binaries-'))
let system: System

beforeAll(async () => {
  system = await startSystem({ engines: [storyEngine()] })
})
afterAll(async () => {
  await system.stop()
  rmSync(folder, { recursive: true, force: true })
})

const glibc = (loader: string) => [
  'libc.so.6',
  loader,
  'libpthread.so.0',
  'libdl.so.2',
  'libm.so.6',
]
const needs: readonly [string, string[]][] = [
  ['linux-amd64', glibc('ld-linux-x86-64.so.2')],
  ['linux-arm64', glibc('ld-linux-aarch64.so.1')],
  ['linux-amd64-musl', ['libstdc++.so.6', 'libc.musl-x86_64.so.1']],
  ['linux-arm64-musl', ['libstdc++.so.6', 'libc.musl-aarch64.so.1']],
]

unlessMissing(Bun.which('readelf') === null ? 'readelf is not installed' : undefined).describe(
  'docs/install.md tells what is needed by',
  () => {
    for (const [name, libraries] of needs) {
      test(name, () => {
        const text = readelf('-d', binary(name))
        const needed = [...text.matchAll(/NEEDED.*\[(.*)\]/g)].map((match) => match[1])
        expect(needed.sort()).toEqual([...libraries].sort())
      })
    }

    test('the glibc forms run on glibc 2.17 and later', () => {
      for (const name of ['linux-amd64', 'linux-arm64']) {
        const versions = [...readelf('-V', binary(name)).matchAll(/GLIBC_2\.(\d+)/g)]
        expect(Math.max(...versions.map((match) => Number(match[1])))).toBe(17)
      }
    })
  },
)

test('the file for macOS says that it runs on macOS 13 and later', () => {
  expect(minimumMacOs(readFileSync(binary('darwin-arm64')))).toBe('13.0')
})

test('its signature matches every page, and does not match if one bit is flipped', () => {
  const file = readFileSync(binary('darwin-arm64'))
  const { pages, wrong } = checkPages(file)
  expect(pages).toBeGreaterThan(10_000)
  expect(wrong).toBe(0)
  file.writeUInt8((file[5_000_000] ?? 0) ^ 1, 5_000_000)
  expect(checkPages(file).wrong).toBe(1)
})

test('the amd64 binary serves a sealed request', async () => {
  await serve([binary('linux-amd64')])
})

const qemuX86 = Bun.which('qemu-x86_64-static') ?? Bun.which('qemu-x86_64')
const noQemuX86 = qemuX86 === null ? 'qemu-user is not installed' : undefined

unlessMissing(noQemuX86).test('it does so on a processor without AVX', async () => {
  await serve([...startOnce, qemuX86 ?? '', '-cpu', 'Nehalem', binary('linux-amd64')])
})

test('a binary reads no settings from the folder it is started in', async () => {
  writeFileSync(join(folder, '.env'), 'PRIVATEMODE_PROXY_API_ENDPOINT=evil.example:443\n')
  writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./evil.ts"]\n')
  writeFileSync(join(folder, 'evil.ts'), 'console.error("evil code ran")\n')
  const program = startProgram([binary('linux-amd64')], folder)
  await program.until(/no service is built in/)
  expect(await program.exited).toBe(2)
  expect(program.output()).not.toContain('evil')
})

const qemu = Bun.which('qemu-aarch64-static') ?? Bun.which('qemu-aarch64')
const noQemu = qemu === null ? 'qemu-user is not installed' : undefined

unlessMissing(noQemu).describe('the arm64 binary under qemu', () => {
  // The image's root has the libraries of that architecture.
  const image = unpackImage('privatemode-proxy', 'arm64')
  afterAll(() => image.remove())
  const command = [qemu ?? '', '-L', image.root, join(image.root, 'usr/bin/privatemode-proxy')]
  const once = [...startOnce, ...command]

  test('is the one that is published by itself', () => {
    const inside = readFileSync(join(image.root, 'usr/bin/privatemode-proxy'))
    expect(inside.equals(readFileSync(binary('linux-arm64')))).toBe(true)
  })

  test('says its version', async () => {
    const program = startProgram([...once, '--version'])
    await program.until(new RegExp(`privatemode-proxy ${version}`))
  })

  test('serves a sealed request', async () => {
    await serve(once)
  })
})

test('two builds of one target are identical, bit for bit', () => {
  const again = join(folder, 'again')
  compileProxy(findTarget('linux-amd64'), again)
  expect(readFileSync(again).equals(readFileSync(binary('linux-amd64')))).toBe(true)
})

async function serve(command: readonly string[]): Promise<void> {
  const args = [...systemArgs(system), '--port', '0', '--workspace', folder]
  const program = startProgram([...command, ...args])
  try {
    const [, url = ''] = await program.until(/msg=listening url=(\S+)/, 120_000)
    await program.until(/msg=ready/, 120_000)
    await askThrough(url, system.apiKey)
  } finally {
    expect(await program.stop()).toBe(0)
  }
}

function readelf(option: string, path: string): string {
  return Bun.spawnSync(['readelf', option, '--wide', path]).stdout.toString()
}
