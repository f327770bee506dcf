import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unlessMissing } from '@privatemode/service/testing'
import { browserBadgeCases } from './browser-badge.ts'
import { browserStorageCases } from './browser-storage.ts'
import { browsers, runPage } from './browsers.ts'
import type { Outcome } from './case.ts'
import { libraryClientCases } from './library-clients.ts'
import { officialClientCases } from './official-clients.ts'
import { type InstalledPackage, installPackage, run } from './packed-package.ts'
import { findInstalled, findRuntimes } from './runtimes.ts'
import { type SuiteStack, startSuiteStack } from './stack-config.ts'
import { cases } from './suite.ts'
import { startWorkerd } from './workerd.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const here = fileURLToPath(new URL('.', import.meta.url))
/** What the suite imports beside the package; in the project it is linked, not installed. */
const clients = [
  ...['openai', '@anthropic-ai/sdk', 'ai', '@ai-sdk/openai-compatible', '@ai-sdk/anthropic'],
  ...['@langchain/openai', '@langchain/core'],
]
const runtimes = await findRuntimes()
const workerd = await findInstalled('@cloudflare/workerd-linux-64/bin/workerd')
let installed: InstalledPackage
let suite: SuiteStack
/** The runtimes run beside one another, each in its own process. */
const running = new Map<string, Promise<readonly Outcome[]>>()

beforeAll(async () => {
  installed = await installPackage()
  for (const name of clients) linkPackage(name)
  await bundle('run-suite.ts', 'suite.mjs', ['@privatemode/sdk', ...clients])
  suite = await startSuiteStack()
  for (const { name, command } of runtimes) {
    if (command !== undefined) running.set(name, runSuite(command))
  }
  if (workerd !== undefined) running.set('workerd', runInWorkerd(workerd))
}, 180_000)

afterAll(async () => {
  await suite?.stop()
  installed?.remove()
}, 240_000)

const missing = (name: string, found: unknown) =>
  found === undefined ? `${name} is not installed` : undefined

for (const { name, command } of [...runtimes, { name: 'workerd', command: workerd }]) {
  unlessMissing(missing(name, command)).describe(`in ${name} the package`, () => {
    let outcomes: readonly Outcome[] = []
    beforeAll(async () => {
      outcomes = (await running.get(name)) ?? []
    }, 180_000)
    const all = [...cases, ...officialClientCases, ...libraryClientCases]
    test.each(all.map((one) => one.name))('%s', (name) => expectPassed(outcomes, name))
  })
}

for (const { name, command } of browsers) {
  unlessMissing(missing(name, command)).describe(`in ${name} the package`, () => {
    let outcomes: readonly Outcome[] = []
    beforeAll(async () => {
      const script = await Bun.file(await bundle('run-suite-page.ts', `page-${name}.js`, [])).text()
      const files = { '/config': Response.json(suite.config) }
      if (command === undefined) return
      outcomes = (await runPage(command, script, files, 110_000)) as Outcome[]
    }, 120_000)
    const clients = [...officialClientCases, ...libraryClientCases]
    const all = [...cases, ...clients, ...browserStorageCases, ...browserBadgeCases]
    test.each(all.map((one) => one.name))('%s', (name) => expectPassed(outcomes, name))
  })
}

function expectPassed(outcomes: readonly Outcome[], name: string): void {
  const found = outcomes.find((outcome) => outcome.name === name)
  expect(found ?? outcomes.filter(({ failure }) => failure !== undefined)).toEqual({ name })
}

async function runSuite(command: readonly string[]): Promise<readonly Outcome[]> {
  const env = { SUITE_CONFIG: JSON.stringify(suite.config) }
  const { output } = await run([...command, 'suite.mjs'], installed.project, env)
  const line = output.split('\n').find((text) => text.startsWith('{"outcomes"'))
  return line === undefined ? [{ name: 'the suite', failure: output }] : JSON.parse(line).outcomes
}

/** All cases in one request: workers at the edge do nothing outside of one. */
async function runInWorkerd(program: string): Promise<readonly Outcome[]> {
  const script = await Bun.file(await bundle('run-suite-worker.ts', 'worker.js', [])).text()
  const env = { SUITE_CONFIG: JSON.stringify(suite.config) }
  const worker = await startWorkerd(program, script, env)
  try {
    const text = await (await fetch(worker.url)).text()
    return text.startsWith('[') ? JSON.parse(text) : [{ name: 'the suite', failure: text }]
  } finally {
    await worker.stop()
  }
}

function linkPackage(name: string): void {
  const path = join(installed.project, 'node_modules', name)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(join(root, 'node_modules', name), path)
}

/** Makes one module for the project; the package itself is always the installed one. */
async function bundle(source: string, name: string, external: string[]): Promise<string> {
  const path = join(installed.project, name)
  const built = await Bun.build({
    entrypoints: [join(here, source)],
    target: 'browser',
    external,
    plugins: [
      {
        name: 'installed package',
        setup(build) {
          build.onResolve({ filter: /^@privatemode\/sdk/ }, ({ path: wanted }) =>
            external.length > 0
              ? { path: wanted, external: true }
              : { path: Bun.resolveSync(wanted, installed.project) },
          )
        },
      },
    ],
  })
  await Bun.write(path, await built.outputs[0]!.text())
  return path
}
