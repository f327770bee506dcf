/** The npm package of the SDK as it would be published, installed into an empty project beside the real stack. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repository, run } from '../../scripts/deploy/locked-package.ts'
import { type SuiteStack, startSuiteStack } from '../sdk/stack-config.ts'
import { version } from './unpacked-image.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-sdk-'))
const archive = join(repository, 'dist', 'npm', `privatemode-sdk-${version}.tgz`)
let suite: SuiteStack

beforeAll(async () => {
  writeFileSync(join(folder, 'package.json'), '{"private": true}')
  run(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', archive], { cwd: folder })
  copyFileSync(join(repository, 'examples', 'quickstart.mjs'), join(folder, 'quickstart.mjs'))
  suite = await startSuiteStack()
})
afterAll(async () => {
  await suite?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('it is installed under its version, and its quick start is answered and signed', async () => {
  const installed = join(folder, 'node_modules', '@privatemode', 'sdk', 'package.json')
  expect(JSON.parse(readFileSync(installed, 'utf8'))).toMatchObject({ version })
  const child = Bun.spawn(['node', 'quickstart.mjs'], {
    cwd: folder,
    env: { ...process.env, PRIVATEMODE_HOME: suite.stack.home },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const output = await new Response(child.stdout).text()
  expect(output).toContain('You said: Write one sentence about the sea.')
  expect(output).toMatch(/worker w_\w+ signed: \d+ tokens of scripted/)
  expect(await child.exited).toBe(0)
})
