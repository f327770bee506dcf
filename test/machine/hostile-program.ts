/**
 * Runs in the machine in place of the worker or the model server, as an attacker would who has taken it over: tries to
 * get out, and to get at what is not its own. Prints one line for each trial, or with `--listen` answers every chat with
 * them, since a model server's output goes nowhere; `allowed` is what the test must not see. Alone in a file, without
 * imports from this repository: the machine has only this.
 */
import { spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'

function argument(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? undefined : process.argv[at + 1]
}
const gateway = new URL(argument('gatewayUrl') ?? '')
const socket = argument('listen')

const lines: string[] = []
function tell(trial: string, verdict: 'allowed' | 'refused', detail = '') {
  lines.push(`trial: ${trial}: ${verdict} ${detail}`.trim())
  console.log(lines.at(-1))
}

function reaches(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    const done = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.setTimeout(8_000, () => done(false))
    socket.once('connect', () => done(true))
    socket.once('error', () => done(false))
  })
}

function asks(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4')
    const done = (isAnswered: boolean) => {
      socket.close()
      resolve(isAnswered)
    }
    const timer = setTimeout(() => done(false), 8_000)
    socket.once('message', () => {
      clearTimeout(timer)
      done(true)
    })
    socket.once('error', () => done(false))
    // A question for the name "a" (RFC 1035): a resolver answers it, with an error if need be.
    const query = '0001010000010000000000000161000001'.concat('0001')
    socket.send(Buffer.from(query, 'hex'), port, host)
  })
}

async function tryOut(trial: string, isOut: Promise<boolean>) {
  tell(trial, (await isOut) ? 'allowed' : 'refused')
}

function attempt(trial: string, act: () => unknown) {
  try {
    const seen = act()
    tell(trial, 'allowed', String(seen ?? '').slice(0, 80))
  } catch (error) {
    tell(trial, 'refused', (error as NodeJS.ErrnoException).code ?? 'error')
  }
}

function found(isFound: boolean): true {
  if (isFound) return true
  throw Object.assign(new Error('nothing is there'), { code: 'nothing' })
}

function processes(): string[] {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return numbers.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
}

function start(command: string) {
  const { error, status, signal } = spawnSync(command, ['-c', 'true'], { timeout: 5_000 })
  if (error !== undefined) throw error
  return `${status} ${signal ?? ''}`
}

// The positive control: without it, "refused" could mean that nothing works.
await tryOut('the gateway on its port', reaches(gateway.hostname, Number(gateway.port)))
await tryOut('the gateway on another port', reaches(gateway.hostname, Number(gateway.port) + 1))
await tryOut('another address', reaches('10.0.2.4', 80))
await tryOut('an address on the internet', reaches('192.0.2.1', 443))
await tryOut('a resolver', asks('10.0.2.3', 53))
for (const shell of ['/bin/sh', '/bin/bash', '/usr/bin/crun', '/usr/sbin/nft', '/bin/busybox']) {
  attempt(`start ${shell}`, () => start(shell))
}
attempt('write to the root', () => writeFileSync('/etc/passwd', 'x'))
attempt('write to the weights', () => appendFileSync('/weights/x', 'x'))
attempt('read a disk', () => readFileSync('/dev/vda').length)
// A masked file reads as empty.
attempt('read kernel memory', () => found(readFileSync('/proc/kcore').length > 0))
attempt('read kernel messages', () => readFileSync('/dev/kmsg').length)
attempt('see the first program', () =>
  found(processes().some((line) => line.includes('/machine/'))),
)
attempt('turn modules on', () => writeFileSync('/proc/sys/kernel/modules_disabled', '0'))
attempt('set a core pattern', () => writeFileSync('/proc/sys/kernel/core_pattern', '|/x'))
attempt('see a disk or memory as a device', () => {
  const devices = readdirSync('/dev').filter((name) =>
    /^(vd|dm|mem|port|kmsg|sd|mapper)/.test(name),
  )
  return found(devices.length > 0) && devices.join(' ')
})
const capabilities = /CapEff:\s*(\w+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
tell('capabilities', capabilities === '0000000000000000' ? 'refused' : 'allowed', capabilities)
if (socket !== undefined) await tryServer()
console.log('trial: end')
if (socket !== undefined) Bun.serve({ unix: socket, fetch: answer })
await new Promise(() => {})

/** What a model server is refused in addition. */
async function tryServer() {
  // Servers talk to their own processes; a second positive control.
  const own = createServer()
  await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve))
  await tryOut('its own loopback', reaches('127.0.0.1', (own.address() as { port: number }).port))
  own.close()
  await tryOut('the worker on its port', reaches('127.0.0.1', 8095))
  attempt('see an interface', () => {
    const others = Object.keys(networkInterfaces()).filter((name) => name !== 'lo')
    return found(others.length > 0) && others.join(' ')
  })
  tell('be root', process.getuid?.() === 0 ? 'allowed' : 'refused', `uid ${process.getuid?.()}`)
  attempt('become root', () => process.setuid?.(0))
  attempt("read the worker's settings", () => readdirSync('/run/privatemode').join(' '))
  attempt('create a report', () => mkdirSync('/sys/kernel/config/tsm/report/own'))
  attempt('see the worker', () => found(processes().some((line) => line.includes('/app/'))))
}

/** As llama-server does, so that the worker uses it. */
async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname === '/v1/models')
    return Response.json({ data: [{ id: 'tiny', owned_by: 'llamacpp' }] })
  if (pathname === '/props' || pathname === '/health') return Response.json({})
  if (pathname !== '/v1/chat/completions') return new Response('', { status: 404 })
  const { stream } = (await request.json()) as { stream?: boolean }
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const body = { id: 'x', created: 0, model: 'tiny' }
  const message = { role: 'assistant', content: lines.join('\n') }
  const choice = { index: 0, finish_reason: 'stop' }
  if (stream !== true)
    return Response.json({
      ...body,
      object: 'chat.completion',
      choices: [{ ...choice, message }],
      usage,
    })
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ ...body, object: 'chat.completion.chunk', ...more })}\n\n`
  const text = [
    chunk({ choices: [{ index: 0, delta: message, finish_reason: null }] }),
    chunk({ choices: [{ ...choice, delta: {} }] }),
    chunk({ choices: [], usage }),
  ]
  return new Response(`${text.join('')}data: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  })
}
