/** The npm package of the proxy, installed as a user does, without install scripts. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repository, run } from '../../scripts/deploy/locked-package.ts'
import { type System, startSystem } from '../e2e/system.ts'
import { systemArgs } from '../proxy/proxy-process.ts'
import { startProgram } from './running-program.ts'
import { askThrough, storyEngine } from './sealed-question.ts'
import { version } from './unpacked-image.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-npx-'))
const archive = join(repository, 'dist', 'npm', `privatemode-proxy-${version}.tgz`)
let system: System

beforeAll(async () => {
  writeFileSync(join(folder, 'package.json'), '{"private": true}')
  run(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', archive], { cwd: folder })
  system = await startSystem({ engines: [storyEngine()] })
})
afterAll(async () => {
  await system.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('npx runs the proxy, which serves a sealed request and ends on a signal', async () => {
  const args = [...systemArgs(system), '--port', '0']
  const program = startProgram(
    [join(folder, 'node_modules/.bin/privatemode-proxy'), ...args],
    folder,
  )
  const [, url = ''] = await program.until(/msg=listening url=(\S+)/)
  await program.until(/msg=ready/)
  await askThrough(url, system.apiKey)
  expect(await program.stop()).toBe(0)
})

test('the exit code of the proxy is the launcher’s', async () => {
  writeFileSync(join(folder, '.env'), 'PRIVATEMODE_PROXY_API_ENDPOINT=evil.example:443\n')
  const program = startProgram(['npx', '--no-install', 'privatemode-proxy'], folder)
  await program.until(/no service is built in/)
  expect(await program.exited).toBe(2)
})
