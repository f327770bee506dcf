/** Several processes behind one port: `--workers`, on the real program. */
import { afterAll, afterEach, beforeAll, expect } from 'bun:test'
import { mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestAuthority, freePorts, unlessMissing } from '@privatemode/service/testing'
import { childrenOf, isAlive } from './child-processes.ts'
import { openSockets } from './open-sockets.ts'
import { type ProxyProcess, runProxy, startProxy, systemArgs } from './proxy-process.ts'
import { chat, chatPath, type ScriptedSystem, startScriptedSystem } from './scripted-system.ts'

const noLinux = process.platform === 'linux' ? undefined : '--workers needs Linux'
const onLinux = unlessMissing(noLinux).test
const folder = mkdtempSync(join(tmpdir(), 'privatemode-processes-'))
let scripted: ScriptedSystem
let args: string[]

beforeAll(async () => {
  scripted = await startScriptedSystem()
  args = ['--workers', '2', '--metrics', '--sharedPromptCache', '--apiKey', scripted.system.apiKey]
}, 150_000)
// What a test that failed would leave would fail the next.
afterEach(() => {
  scripted.hooks.before = undefined
  scripted.hooks.beforeChunk = undefined
})
afterAll(() => scripted.system.stop(), 90_000)

type Ask = { readonly stream?: boolean; readonly ca?: string }

/** A request over a connection of its own: the kernel chooses a process for each. */
async function ask(url: string, { stream = false, ca }: Ask = {}): Promise<string> {
  const tls = ca === undefined ? {} : { tls: { ca } }
  const session = new Bun.FetchSession({ keepAlive: false, proxy: false, ...tls })
  const response = await session.fetch(url + chatPath, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: chat({ stream }),
  })
  return response.text()
}

const metric = async (proxy: ProxyProcess, name: string) => {
  const text = await (await fetch(`${proxy.url}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(name))
  return Number(line?.split(' ').at(-1))
}

/** Streams that wait in the engine until they are released. */
async function heldStreams(proxy: ProxyProcess, count: number) {
  const release = Promise.withResolvers<void>()
  let waiting = 0
  scripted.hooks.beforeChunk = async (index) => {
    if (index !== 1) return
    waiting++
    await release.promise
  }
  const texts = Array.from({ length: count }, () =>
    ask(proxy.url, { stream: true }).catch(() => 'lost'),
  )
  await until(() => waiting === count)
  scripted.hooks.beforeChunk = undefined
  return { texts, release: release.resolve }
}

const servedBy = (pid: number, { port }: ProxyProcess) =>
  openSockets(pid).filter(({ localPort }) => localPort === port).length

onLinux(
  'requests reach both processes, under one salt, and are counted together',
  async () => {
    const proxy = await startProxy(scripted.system, { args })
    const before = scripted.engine.calls.length
    const held = await heldStreams(proxy, 24)
    const pids = childrenOf(proxy.pid)
    expect(pids).toHaveLength(2)
    const shares = pids.map((pid) => servedBy(pid, proxy))
    for (const share of shares) expect(share).toBeGreaterThan(0)
    held.release()
    for (const text of await Promise.all(held.texts)) expect(text).toEndWith('data: [DONE]\n\n')
    const salts = scripted.engine.calls.slice(before).map(({ body }) => body.cache_salt)
    expect(new Set(salts).size).toBe(1)
    expect(await metric(proxy, 'privatemode_proxy_requests_total')).toBe(24)
    expect(await metric(proxy, 'privatemode_proxy_processes')).toBe(2)
    expect(await (await fetch(`${proxy.url}/ready`)).json()).toMatchObject({ ready: true })
    // Both verified against it; it began to be enforced once.
    const enforced = readFileSync(join(proxy.workspace, 'manifests/log.txt'), 'utf8')
    expect(enforced.trim().split('\n')).toHaveLength(1)
    proxy.signal('SIGTERM')
    expect(await proxy.exited).toBe(0)
  },
  240_000,
)

onLinux(
  'one that is killed loses its own streams only, and another takes its place',
  async () => {
    const proxy = await startProxy(scripted.system, { args })
    const held = await heldStreams(proxy, 24)
    const [victim = 0, other = 0] = childrenOf(proxy.pid)
    const lost = servedBy(victim, proxy)
    expect(lost).toBeGreaterThan(0)
    const counted = await metric(proxy, 'privatemode_proxy_sent_bytes_total')
    process.kill(victim, 'SIGKILL')
    await proxy.logged('serving process ended, starting another', 'SIGKILL')
    held.release()
    const texts = await Promise.all(held.texts)
    const whole = texts.filter((text) => text.endsWith('data: [DONE]\n\n'))
    expect(whole.length).toBe(24 - lost)
    await until(async () => (await metric(proxy, 'privatemode_proxy_processes')) === 2)
    const [one, two] = childrenOf(proxy.pid)
    expect([one, two]).toContain(other)
    expect([one, two]).not.toContain(victim)
    await until(async () => (await fetch(`${proxy.url}/ready`)).status === 200)
    for (const text of await Promise.all(Array.from({ length: 12 }, () => ask(proxy.url)))) {
      expect(text).toContain('Once upon')
    }
    const after = await metric(proxy, 'privatemode_proxy_sent_bytes_total')
    expect(after).toBeGreaterThan(counted)
    await proxy.stop()
  },
  240_000,
)

onLinux(
  'a proxy that is told to stop while it starts ends as one that is told later',
  async () => {
    const [port = 0] = freePorts(1)
    const proxy = await startProxy(scripted.system, { args, port, cold: true })
    await until(() => childrenOf(proxy.pid).length > 0)
    proxy.signal('SIGTERM')
    expect(await proxy.exited).toBe(0)
    expect(proxy.log()).not.toContain('error:')
  },
  120_000,
)

onLinux(
  'SIGTERM lets the streams of all processes end; a killed supervisor leaves no process',
  async () => {
    const proxy = await startProxy(scripted.system, { args })
    const held = await heldStreams(proxy, 12)
    const pids = childrenOf(proxy.pid)
    proxy.signal('SIGTERM')
    // A terminal and a service manager signal every process; that is no second signal.
    for (const pid of pids) process.kill(pid, 'SIGTERM')
    await proxy.logged('stopping')
    await until(async () => (await ask(proxy.url).catch(() => 'refused')) === 'refused')
    held.release()
    for (const text of await Promise.all(held.texts)) expect(text).toEndWith('data: [DONE]\n\n')
    expect(await proxy.exited).toBe(0)
    expect(pids.filter(isAlive)).toEqual([])

    const second = await startProxy(scripted.system, { args })
    const orphans = childrenOf(second.pid)
    second.signal('SIGKILL')
    await second.exited
    await until(() => !orphans.some(isAlive))
  },
  240_000,
)

onLinux(
  'a certificate is replaced in all processes under load without a failed request',
  async () => {
    const authority = createTestAuthority('Local CA')
    const [certPath, keyPath] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    const install = () => {
      const { certPem, keyPem } = authority.issue(['localhost', '127.0.0.1'])
      writeFileSync(`${certPath}.new`, certPem)
      writeFileSync(`${keyPath}.new`, keyPem, { mode: 0o600 })
      renameSync(`${keyPath}.new`, keyPath)
      renameSync(`${certPath}.new`, certPath)
    }
    install()
    const tlsArgs = ['--tlsCertPath', certPath, '--tlsKeyPath', keyPath]
    const proxy = await startProxy(scripted.system, { args: [...args, ...tlsArgs] })
    let stop = false
    const outcomes = { good: 0, bad: 0 }
    const client = async (stream: boolean) => {
      while (!stop) {
        const text = await ask(proxy.url, { stream, ca: authority.certPem }).catch(() => '')
        outcomes[text.includes('upon ') ? 'good' : 'bad']++
      }
    }
    const clients = [true, false, true, false, true, false].map(client)
    install()
    const replaced = () => proxy.log().split('TLS certificate replaced').length - 1
    await until(() => replaced() === 2 && outcomes.good > 10)
    stop = true
    await Promise.all(clients)
    expect(outcomes.bad).toBe(0)
    expect(outcomes.good).toBeGreaterThan(10)
    await proxy.stop()
  },
  240_000,
)

onLinux(
  'a start that cannot work stops with one sentence, whoever finds out',
  async () => {
    const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('x') })
    const base = [...systemArgs(scripted.system), '--workspace', folder, '--workers', '2']
    const busy = await runProxy([...base, '--port', String(other.port)])
    expect(busy).toMatchObject({ code: 2 })
    expect(busy.stderr).toContain('is in use; stop the other program or choose another port')
    await other.stop(true)
    const [certPath, keyPath] = [join(folder, 'bad-cert.pem'), join(folder, 'bad-key.pem')]
    const authority = createTestAuthority('Mismatch CA')
    writeFileSync(certPath, authority.issue(['localhost']).certPem)
    writeFileSync(keyPath, authority.issue(['localhost']).keyPem)
    const tls = ['--port', '0', '--tlsCertPath', certPath, '--tlsKeyPath', keyPath]
    const mismatched = await runProxy([...base, ...tls])
    expect(mismatched).toMatchObject({ code: 2 })
    expect(mismatched.stderr).toContain('the TLS certificate and key cannot be used')
    expect(
      mismatched.stderr
        .trim()
        .split('\n')
        .filter((line) => line.startsWith('privatemode')),
    ).toHaveLength(1)
  },
  240_000,
)

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 45_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error('waited in vain')
    await Bun.sleep(20)
  }
}
