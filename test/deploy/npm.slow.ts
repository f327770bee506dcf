/** The npm package of the proxy, installed as users do: with install scripts, which is npm's default, and without. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repository, run } from '../../scripts/deploy/locked-package.ts'
import { type System, startSystem } from '../e2e/system.ts'
import { systemArgs } from '../proxy/proxy-process.ts'
import { startProgram } from './running-program.ts'
import { askThrough, storyEngine } from './sealed-question.ts'
import { version } from './unpacked-image.ts'

const ways = {
  'with install scripts': ['--ignore-scripts=false'],
  'without them': ['--ignore-scripts'],
}
const archive = join(repository, 'dist', 'npm', `privatemode-proxy-${version}.tgz`)
let system: System
let folder = ''

beforeAll(async () => {
  system = await startSystem({ engines: [storyEngine()] })
})
afterAll(() => system.stop())

for (const [way, flags] of Object.entries(ways)) {
  describe(`installed ${way}`, () => {
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'privatemode-npx-'))
      writeFileSync(join(folder, 'package.json'), '{"private": true}')
      run(['npm', 'install', ...flags, '--no-audit', '--no-fund', archive], { cwd: folder })
    })
    afterAll(() => rmSync(folder, { recursive: true, force: true }))

    test('npx runs the proxy, which serves a sealed request and ends on a signal', servesAndEnds)
    test('the exit code of the proxy is the launcher’s', passesExitCode)
  })
}

async function servesAndEnds(): Promise<void> {
  const args = [...systemArgs(system), '--port', '0']
  const program = startProgram(
    [join(folder, 'node_modules/.bin/privatemode-proxy'), ...args],
    folder,
  )
  const [, url = ''] = await program.until(/msg=listening url=(\S+)/)
  await program.until(/msg=ready/)
  await askThrough(url, system.apiKey)
  expect(await program.stop()).toBe(0)
}

async function passesExitCode(): Promise<void> {
  writeFileSync(join(folder, '.env'), 'PRIVATEMODE_PROXY_API_ENDPOINT=evil.example:443\n')
  const program = startProgram(['npx', '--no-install', 'privatemode-proxy'], folder)
  await program.until(/no service is built in/)
  expect(await program.exited).toBe(2)
}
