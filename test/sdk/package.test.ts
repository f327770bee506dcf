import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
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

const readDescription = () => JSON.parse(readFileSync(join(installed.dist, 'package.json'), 'utf8'))

const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

test('publint reports no problems', async () => {
  const { messages, pkg } = await publint({ pkgDir: installed.dist, strict: true, pack: 'npm' })
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([])
}, 240_000)

test('its types are right for every way to resolve them as ES modules', async () => {
  const attw = join(root, 'node_modules', '@arethetypeswrong', 'cli', 'dist', 'index.js')
  const args = [installed.tarball, '--profile', 'esm-only', '--no-color', '--format', 'ascii']
  const { code, output } = await run(['node', attw, ...args], root)
  expect(`${code} ${output}`).toMatch(/^0 /)
  for (const entry of ['', '/anthropic', '/badge', '/chain', '/core', '/openai', '/software']) {
    expect(output).toContain(
      `"@privatemode/sdk${entry}"\n\nnode16 (from ESM): 🟢 (ESM)\nbundler: 🟢`,
    )
  }
}, 120_000)

test('it has its licence, no test, no source of another package, and two run-time dependencies', () => {
  const files = readdirSync(installed.dist, { recursive: true, encoding: 'utf8' })
  expect(files).toContain('LICENSE')
  expect(files.filter((name) => /\.test\.|testing|gateway|proxy/.test(name))).toEqual([])
  const description = readDescription()
  expect(description.peerDependenciesMeta).toEqual({
    '@anthropic-ai/sdk': { optional: true },
    openai: { optional: true },
  })
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
  const outside = [...names].filter((name) => !name.startsWith('@noble/'))
  expect(outside.sort()).toEqual(Object.keys(readDescription().peerDependencies))
})

test('a program with strict types compiles against it, without skipping its declarations', async () => {
  const { project } = installed
  await Bun.write(
    join(project, 'program.ts'),
    `import { Privatemode, PrivatemodeError, type ChatChunk } from '@privatemode/sdk'
     import { CorePrivatemode, snpVerifier } from '@privatemode/sdk/core'
     import { acceptSoftware } from '@privatemode/sdk/software'
     import { definePrivatemodeBadge, type PrivatemodeBadge } from '@privatemode/sdk/badge'
     definePrivatemodeBadge()
     export const watch = (badge: PrivatemodeBadge) =>
       Privatemode.connect({ ...options, onEvent: badge.onEvent })
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
  const flags = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2023']
  const lib = ['--lib', 'es2023,dom,dom.iterable,dom.asynciterable', '--types', '']
  const { code, output } = await run(
    ['node', tsc, ...flags, ...lib, '--exactOptionalPropertyTypes', 'program.ts'],
    project,
  )
  expect(output).toBe('')
  expect(code).toBe(0)
}, 240_000)

test('the examples type-check against the installed package, and official clients keep their types', async () => {
  const { project } = installed
  const modules = join(project, 'node_modules')
  mkdirSync(join(modules, '@anthropic-ai'), { recursive: true })
  for (const name of ['openai', '@anthropic-ai/sdk', '@types', 'bun-types', 'undici-types']) {
    const target = join(root, 'node_modules', name)
    if (existsSync(target)) symlinkSync(target, join(modules, name))
  }
  cpSync(join(root, 'examples'), join(project, 'examples'), {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  })
  await Bun.write(
    join(project, 'examples', 'types.ts'),
    `import { PrivatemodeAnthropic } from '@privatemode/sdk/anthropic'
     import { PrivatemodeOpenAI } from '@privatemode/sdk/openai'
     export async function ask(): Promise<string | null | undefined> {
       const answer = await new PrivatemodeOpenAI({ apiKey: 'k' }).chat.completions.create({ model: 'm', messages: [] })
       return answer.choices[0]?.message.content
     }
     export const count = (client: PrivatemodeAnthropic): Promise<{ input_tokens: number }> =>
       client.messages.countTokens({ model: 'm', messages: [] })
     // @ts-expect-error: the endpoint decides where calls go
     new PrivatemodeOpenAI({ baseURL: 'https://elsewhere.example' })`,
  )
  const options = {
    compilerOptions: {
      ...{ noEmit: true, strict: true, noImplicitAny: false, strictNullChecks: true },
      ...{ allowJs: true, checkJs: true, skipLibCheck: true, jsx: 'preserve', target: 'es2023' },
      ...{ module: 'preserve', lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'] },
      ...{ types: ['bun'], useUnknownInCatchVariables: false, allowImportingTsExtensions: true },
    },
    files: [
      ...['types.ts', 'bun/main.ts', 'deno/main.ts', 'edge/worker.js', 'quickstart.mjs'],
      ...['node/main.mjs', 'next-edge/app/api/chat/route.js'],
    ],
  }
  await Bun.write(join(project, 'examples', 'tsconfig.json'), JSON.stringify(options))
  const { output } = await run(['node', tsc, '-p', 'examples/tsconfig.json'], project)
  expect(output).toBe('')
}, 120_000)
