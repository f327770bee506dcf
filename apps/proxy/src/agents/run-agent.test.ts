/** The agent launcher, with stub programs that print their input. */
import { afterAll, expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '@privatemode/service/testing'
import { type AgentName, agentNames, isAgentName, startOf } from './agent-settings.ts'
import { runAgent } from './run-agent.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-launcher-'))
const bin = join(folder, 'bin')
mkdirSync(bin)
const record = join(folder, 'record.json')
/** Writes down its arguments and variables, and the files they name. */
const program = `#!${process.execPath}
const { appendFileSync, existsSync, readFileSync } = require('node:fs')
const args = process.argv.slice(2)
const named = [...args, process.env.OPENCODE_CONFIG ?? ''].filter((path) => /\\.(json|yaml)$/.test(path) && existsSync(path))
appendFileSync(${JSON.stringify(record)}, JSON.stringify({ args, env: process.env, files: named.map((path) => readFileSync(path, 'utf8')) }) + '\\n')
if (args.includes('wait')) setInterval(() => {}, 1000)
else process.exit(args.includes('fail') ? 7 : 0)
`
for (const name of ['claude', 'codex', 'opencode', 'cline', 'cn', 'aider']) {
  writeFileSync(join(bin, name), program)
  chmodSync(join(bin, name), 0o755)
}

const models = [
  { id: 'small', tasks: ['generate'], context_length: 2048 },
  { id: 'large', tasks: ['generate'], context_length: 131_072 },
  { id: 'vectors', tasks: ['embed'], context_length: 999_999 },
]
const proxy = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === '/privatemode/v1/verification') return Response.json({ ready: true })
    return Response.json({ data: models })
  },
})
afterAll(async () => {
  await proxy.stop(true)
  rmSync(folder, { recursive: true, force: true })
})

type Seen = { args: string[]; env: Record<string, string>; files: string[] }

async function launch(agent: AgentName, args: string[], env: Record<string, string> = {}) {
  rmSync(record, { force: true })
  const said: string[] = []
  const printed: string[] = []
  const code = await runAgent({
    agent,
    args,
    env: { PATH: bin, PRIVATEMODE_PROXY_PORT: String(proxy.port), ...env },
    proxyCommand: [process.execPath, 'must-not-start.ts'],
    say: (line) => void said.push(line),
    print: (text) => void printed.push(text),
  })
  const all = existsSync(record) ? readFileSync(record, 'utf8').trim() : ''
  const last = all.split('\n').at(-1) ?? ''
  const seen = last === '' ? undefined : (JSON.parse(last) as Seen)
  return { code, seen, all, said: said.join('\n'), printed: printed.join('') }
}

test.each(agentNames)(
  '%s is pointed at the proxy and at the model with the longest context',
  async (agent) => {
    const { code, all } = await launch(agent, [])
    expect(code).toBe(0)
    expect(all).toContain(`http://127.0.0.1:${proxy.port}`)
    expect(all).toContain('large')
  },
)

test('arguments after -- are passed to the agent, and its exit code is ours', async () => {
  const { code, seen } = await launch('claude', ['--model', 'small', '--', '--model', 'x', 'fail'])
  expect(code).toBe(7)
  expect(seen?.args).toEqual(['--model', 'x', 'fail'])
  expect(seen?.env.ANTHROPIC_MODEL).toBe('small')
})

test('a short context causes a warning, and an unknown model is refused', async () => {
  expect((await launch('codex', ['--model=small'])).said).toContain('context of 2048 tokens')
  expect((await launch('codex', ['--model', 'large'])).said).not.toContain('warning')
  const error = await launch('codex', ['--model', 'none']).catch((e: Error) => e)
  expect(String(error)).toContain('available: small, large')
  // Errors with a code are shown as one sentence, others with their stack.
  expect(error).toMatchObject({ code: 'model_unknown' })
})

test('a request to end is passed on to the agent, and its folder goes with it', async () => {
  const ending = launch('opencode', ['--', 'wait'])
  const hasStarted = () => existsSync(record) && readFileSync(record, 'utf8').endsWith('\n')
  while (!hasStarted()) await Bun.sleep(5)
  process.emit('SIGTERM', 'SIGTERM')
  const { code, seen } = await ending
  expect(code).toBe(143)
  const own = JSON.stringify(seen).match(/[^"]*privatemode-agent-\w+/)?.[0] ?? ''
  expect(own).toContain('privatemode-agent-')
  expect(existsSync(own)).toBe(false)
})

test('if an agent is not installed, the error names the command that installs it', async () => {
  const { code, said } = await launch('aider', [], { PATH: join(folder, 'empty') })
  expect(code).toBe(127)
  expect(said).toContain('aider-install')
})

test('without a running proxy, one is started with the given flags and stops with the agent', async () => {
  const [port] = freePorts(1)
  const pidFile = join(folder, 'pid')
  const stand = join(folder, 'stand-in.ts')
  writeFileSync(
    stand,
    `const { readFileSync, writeFileSync } = require('node:fs')
    const group = process.platform === 'linux' ? readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ')[2] : process.pid
    writeFileSync(${JSON.stringify(pidFile)}, process.pid + ' ' + group)
    Bun.serve({ hostname: '127.0.0.1', port: ${port}, fetch: () => Response.json({ ready: true, data: ${JSON.stringify(models)} }) })`,
  )
  const flags = [
    '--apiEndpoint',
    'api.test:443',
    '--manifestLogKey',
    'log.test+0+x',
    '--port',
    String(port),
  ]
  const run = {
    ...{ agent: 'aider' as const, env: { PATH: bin }, say: () => {}, print: () => {} },
    proxyCommand: [process.execPath, stand],
  }
  const refused = await runAgent({ ...run, args: ['--port', String(port)] }).catch((e: Error) => e)
  expect(String(refused)).toContain('--apiEndpoint')
  const manifest = join(folder, 'manifest.json')
  writeFileSync(manifest, '{}')
  const args = [...flags.slice(0, 2), '--manifestPath', manifest, ...flags.slice(4)]
  expect(await runAgent({ ...run, args })).toBe(0)
  // Of a group of its own: Ctrl-C is for the agent.
  const [pid, group] = readFileSync(pidFile, 'utf8').split(' ').map(Number) as [number, number]
  expect(group).toBe(pid)
  expect(() => process.kill(pid, 0)).toThrow()
})

test('help and version are printed before anything is started or asked', async () => {
  const [port] = freePorts(1)
  const nowhere = { PRIVATEMODE_PROXY_PORT: String(port) }
  for (const flag of ['--help', '-h']) {
    const { code, seen, said, printed } = await launch('claude', ['--model', 'x', flag], nowhere)
    expect({ code, seen, said }).toEqual({ code: 0, seen: undefined, said: '' })
    expect(printed).toContain(
      '\n  claude|codex|opencode|cline|continue|aider [--model ID] [flags] [-- arguments of the agent]\n',
    )
  }
  expect((await launch('claude', ['--version'], nowhere)).printed).toBe('privatemode-proxy 0.1.0\n')
  const { seen } = await launch('claude', ['--', '--help'])
  expect(seen?.args).toEqual(['--help'])
})

test('a proxy that ends before it is ready is reported with its code', async () => {
  const [port] = freePorts(1)
  const manifest = join(folder, 'manifest.json')
  writeFileSync(manifest, '{}')
  const settings = { PRIVATEMODE_PROXY_PORT: String(port), PRIVATEMODE_PROXY_API_ENDPOINT: 'a:443' }
  const failing = (program: string) =>
    runAgent({
      agent: 'claude',
      args: ['--manifestPath', manifest],
      env: { PATH: bin, ...settings },
      proxyCommand: [process.execPath, '-e', program, '--'],
      say: () => {},
      print: () => {},
    }).catch((error: Error) => error)
  const rest =
    'before it was ready; start it on its own to see why: privatemode-proxy [the same flags]'
  expect(await failing('process.exit(3)')).toMatchObject({
    code: 'proxy_unusable',
    message: `the proxy exited with code 3 ${rest}`,
  })
  expect(await failing('process.kill(process.pid, "SIGKILL")')).toMatchObject({
    message: `the proxy exited with code SIGKILL ${rest}`,
  })
})

test('agents have distinct names, and their files contain only settings', () => {
  expect(isAgentName('claude')).toBe(true)
  expect(isAgentName('--port')).toBe(false)
  expect(isAgentName(undefined)).toBe(false)
  const inputs = {
    url: 'http://127.0.0.1:1',
    model: 'a"b',
    contextLength: 1,
    folder: '/f',
    args: [],
  }
  for (const name of agentNames) {
    for (const text of Object.values(startOf(name, inputs).files)) JSON.parse(text)
  }
})
