/** The steps for one machine as docs/operations.md has them, then the programs as the compose file starts them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@privatemode/service/testing'
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { repository } from '../../scripts/deploy/locked-package.ts'
import { type RunningProgram, startProgram } from './running-program.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-compose-'))
const server = startScriptedServer({ models: ['org/chat-1'] })
const compose = Bun.YAML.parse(
  readFileSync(join(repository, 'deploy/compose.yaml'), 'utf8'),
) as Compose
const running: RunningProgram[] = []
const ports = { gateway: freePort(), worker: freePort(), proxy: freePort() }
let variables: Record<string, string>

type Compose = {
  services: Record<
    string,
    { command?: string[]; ports?: string[]; networks?: string[]; network_mode?: string }
  >
  secrets: Record<string, { file: string }>
}
type Part = keyof typeof ports

beforeAll(async () => {
  variables = await followSteps()
}, 400_000)
afterAll(async () => {
  for (const program of running.toReversed()) await program.stop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('the steps create every file and variable that the compose file requires', () => {
  for (const { file } of Object.values(compose.secrets)) {
    expect(existsSync(join(folder, 'deploy', file))).toBe(true)
  }
  const text = readFileSync(join(repository, 'deploy/compose.yaml'), 'utf8')
  const wanted = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name ?? '')
  expect(wanted.length).toBe(3)
  for (const name of wanted) expect(variables[name]).toMatch(/^\S+$/)
})

test('the proxy has its own network, so that it outlives the gateway, and every port can be chosen', () => {
  expect(compose.services.proxy).toMatchObject({ networks: ['sealed'] })
  expect(compose.services.proxy?.network_mode).toBeUndefined()
  expect(compose.services.gateway?.ports?.join()).toMatch(
    /^127\.0\.0\.1:\$\{GATEWAY_PORT:-8090\}:8090$/,
  )
  expect(compose.services.proxy?.ports?.join()).toMatch(
    /^127\.0\.0\.1:\$\{PROXY_PORT:-8080\}:8080$/,
  )
})

test('the programs, started with the flags of the compose file, answer a sealed request', async () => {
  await start('gateway', /gateway is ready/, ['--dataDir', join(folder, 'database')])
  await start('worker', /worker is ready/, [])
  await start('proxy', /msg=ready/, ['--workspace', folder])
  const secret = await createKey()
  const response = await fetch(`http://127.0.0.1:${ports.proxy}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
    body: '{"model":"org/chat-1","messages":[{"role":"user","content":"[[say all is well]]"}]}',
  })
  expect(await response.json()).toMatchObject({
    choices: [{ message: { content: 'all is well' } }],
  })
}, 400_000)

/** Runs the first block of the section in a folder that contains this checkout, but its own `deploy`. */
async function followSteps(): Promise<Record<string, string>> {
  const text = readFileSync(join(repository, 'docs/operations.md'), 'utf8')
  const block = /## One machine with compose\n.*?```sh\n(.*?)```/s.exec(text)?.[1] ?? ''
  expect(block).toContain('manifest publish')
  for (const name of readdirSync(repository)) {
    if (name !== 'deploy' && name !== '.git')
      Bun.spawnSync(['ln', '-s', join(repository, name), folder])
  }
  const steps = block.replace(/^VLLM_URL=.*$/m, `VLLM_URL=${server.url}`)
  const program = startProgram(['bash', '-c', `set -e\n${steps}`], folder)
  expect(`${await program.exited} ${program.output()}`).toStartWith('0 ')
  // As compose reads it: next to its file, in any shell.
  const lines = readFileSync(join(folder, 'deploy/.env'), 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map((line) => [line.split('=')[0], line.replace(/^\w+=/, '')]))
}

/** Replaces the names and mounts of containers by addresses and paths of processes on one machine. */
async function start(part: Part, ready: RegExp, more: string[]): Promise<void> {
  const args = (compose.services[part]?.command ?? []).flatMap((arg) => {
    if (/^--(databaseUrl|portalDir)=/.test(arg)) return [] // neither a server nor the image is here
    return arg
      .replace(/\$\{(\w+):\?[^}]*\}/, (_, name: string) => variables[name] ?? '')
      .replace(/\/run\/secrets\/([\w-]+)/, (_, name: string) => secretPath(name))
      .replace('=/manifest-log', `=${join(folder, 'deploy/manifest-log')}`)
      .replace(/\$\{\w+:-(\d+)\}/, '$1')
      .replace(/(gateway|localhost):8090/, `localhost:${ports.gateway}`)
      .replace('host.docker.internal', '127.0.0.1')
      .replace('worker:8095', `127.0.0.1:${ports.worker}`)
  })
  const main = join(repository, 'apps', part, 'src/main.ts')
  const program = startProgram([
    ...['env', `SSL_CERT_FILE=${secretPath('gateway-ca')}`],
    process.execPath,
    main,
    ...args,
    '--port',
    `${ports[part]}`,
    ...more,
  ])
  running.push(program)
  await program.until(ready, 180_000)
}

function secretPath(name: string): string {
  return join(folder, 'deploy', compose.secrets[name]?.file ?? 'no such secret')
}

async function createKey(): Promise<string> {
  const main = join(repository, 'apps/gateway/src/main.ts')
  const program = startProgram([
    ...[process.execPath, main, 'keys', 'create', '--name', 'first'],
    ...['--gateway', `https://localhost:${ports.gateway}`],
    ...['--gatewayCaPath', secretPath('gateway-ca')],
    ...['--adminToken', `@${secretPath('admin-token')}`],
  ])
  const [, secret = ''] = await program.until(/"secret": "([^"]+)"/)
  return secret
}
