/** `npx privatemode-proxy` in a real terminal: Ctrl-C drains, and nothing is left running. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import ourPackage from '../../package.json'
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../packages/inference/src/testing/scripted-server.ts'
import { type RunningStack, runStack } from '../e2e/running-stack.ts'
import { listProcesses } from '../process-table.ts'

const archive = resolve(
  import.meta.dir,
  `../../dist/npm/privatemode-proxy-${ourPackage.version}.tgz`,
)
const limitMs = 100_000
let server: ScriptedServer
let stack: RunningStack
let folder = ''

beforeAll(async () => {
  server = startScriptedServer({ kind: 'vllm', cache: 'salted' })
  stack = await runStack(['--engineUrl', server.url])
  folder = mkdtempSync(join(tmpdir(), 'privatemode-npx-'))
  writeFileSync(join(folder, 'package.json'), '{"private": true}')
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const installing = Bun.spawn(['npm', 'install', ...flags, archive], { cwd: folder })
  expect(await installing.exited).toBe(0)
}, 240_000)

afterAll(async () => {
  for (const { pid } of running()) process.kill(pid, 'SIGKILL')
  await stack?.stop()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
}, 120_000)

/** The proxy and what started it have a file of this folder among their arguments. */
const running = () =>
  listProcesses().filter(
    ({ args, state }) => folder !== '' && args.includes(folder) && state !== 'Z',
  )

async function until(holds: () => boolean, seen: () => string): Promise<void> {
  const deadline = Date.now() + limitMs
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms; seen: ${seen()}`)
    await Bun.sleep(50)
  }
}

async function startProxy() {
  let output = ''
  const key = join(folder, 'key')
  const client = readFileSync(join(stack.home, 'client.json'), 'utf8')
  const { softwareRoot } = JSON.parse(client) as { softwareRoot: string }
  writeFileSync(key, stack.apiKey)
  const child = Bun.spawn(
    [
      ...['npx', '--no-install', 'privatemode-proxy', '--port', '0', '--apiKey', `@${key}`],
      ...['--apiEndpoint', stack.gatewayUrl, '--manifestPath', join(stack.home, 'manifest.json')],
      ...['--allowSoftwareAttestation', '--softwareRootFingerprint', softwareRoot],
      ...['--workspace', join(folder, 'state')],
    ],
    {
      cwd: folder,
      terminal: {
        cols: 300,
        data(_terminal, bytes) {
          output += Buffer.from(bytes).toString()
        },
      },
    },
  )
  await until(
    () => /msg=ready/.test(output),
    () => output,
  )
  const url = /msg=listening url=(\S+)/.exec(output)?.[1] ?? ''
  return { child, url, output: () => output }
}

test.each([
  ['Ctrl-C', (child: Bun.Subprocess): unknown => child.terminal?.write('\x03')],
  ['SIGTERM to the group', (child: Bun.Subprocess): unknown => process.kill(-child.pid, 'SIGTERM')],
] as const)(
  '%s lets a running stream finish and leaves nothing',
  async (_, stop) => {
    const { child, url, output } = await startProxy()
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'scripted',
        stream: true,
        messages: [{ role: 'user', content: '[[pace 100]] [[words 40]]' }],
      }),
    })
    expect(response.status).toBe(200)
    const text = response.text()
    stop(child)
    expect(await text).toContain('word39')
    await until(() => running().length === 0, output)
  },
  240_000,
)
