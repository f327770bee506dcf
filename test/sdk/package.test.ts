import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { type InstalledPackage, installPackage, run } from './packed-package.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
let installed: InstalledPackage

beforeAll(async () => {
  installed = await installPackage()
}, 120_000)

afterAll(() => installed?.remove())

test('publint finds nothing to say about the package', async () => {
  const { messages, pkg } = await publint({ pkgDir: installed.dist, strict: true, pack: 'npm' })
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([])
}, 60_000)

test('its types are right for every way to resolve them as ES modules', async () => {
  const attw = join(root, 'node_modules', '@arethetypeswrong', 'cli', 'dist', 'index.js')
  const args = [installed.tarball, '--profile', 'esm-only', '--no-color', '--format', 'ascii']
  const { code, output } = await run(['node', attw, ...args], root)
  expect(`${code} ${output}`).toMatch(/^0 /)
  for (const entry of ['@privatemode/sdk', '@privatemode/sdk/core', '@privatemode/sdk/software']) {
    expect(output).toContain(`"${entry}"\n\nnode16 (from ESM): 🟢 (ESM)\nbundler: 🟢`)
  }
}, 120_000)

test('it has its licence, no test, no source of another package, and two run-time dependencies', () => {
  const files = readdirSync(installed.dist, { recursive: true, encoding: 'utf8' })
  expect(files).toContain('LICENSE')
  expect(files.filter((name) => /\.test\.|testing|gateway|proxy/.test(name))).toEqual([])
  const description = JSON.parse(readFileSync(join(installed.dist, 'package.json'), 'utf8'))
  expect(Object.keys(description.dependencies)).toEqual(['@noble/hashes', '@noble/post-quantum'])
  expect(description.scripts).toBeUndefined()
})

test('no module of it imports anything but itself, its dependencies and the web platform', () => {
  const modules = readdirSync(installed.dist, { recursive: true, encoding: 'utf8' })
  const names = new Set<string>()
  for (const file of modules.filter((name) => /\.(js|d\.ts)$/.test(name))) {
    const text = readFileSync(join(installed.dist, file), 'utf8')
    for (const [, name = ''] of text.matchAll(/(?:from ?|import\()["']([^"']+)["']/g)) {
      if (!name.startsWith('.')) names.add(name)
    }
  }
  expect([...names].filter((name) => !name.startsWith('@noble/'))).toEqual([])
})

test('a program with strict types compiles against it, without skipping its declarations', async () => {
  const { project } = installed
  await Bun.write(
    join(project, 'program.ts'),
    `import { Privatemode, PrivatemodeError, type ChatChunk } from '@privatemode/sdk'
     import { CorePrivatemode, snpVerifier } from '@privatemode/sdk/core'
     import { acceptSoftware } from '@privatemode/sdk/software'
     const options = { apiKey: 'k', endpoint: 'https://e.example', manifest: { logKey: 'l' } }
     export const all: Promise<Privatemode> = Privatemode.connect({ ...options, software: acceptSoftware('r') })
     export const some = CorePrivatemode.connect({ ...options, hardware: { snp: snpVerifier } })
     export async function first(pm: Privatemode): Promise<ChatChunk | undefined> {
       for await (const chunk of await pm.chat.stream({ model: 'm', messages: [] })) return chunk
       return undefined
     }
     export const code = (error: PrivatemodeError) => error.code === 'attestation_refused'
     // @ts-expect-error: a code that does not exist
     export const never = (error: PrivatemodeError) => error.code === 'no_such_code'`,
  )
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const flags = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2023']
  const lib = ['--lib', 'es2023,dom,dom.iterable,dom.asynciterable', '--types', '']
  const { code, output } = await run(
    ['node', tsc, ...flags, ...lib, '--exactOptionalPropertyTypes', 'program.ts'],
    project,
  )
  expect(output).toBe('')
  expect(code).toBe(0)
}, 60_000)
