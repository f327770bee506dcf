/**
 * The gateway's relay against nginx as a plain reverse proxy, in one run.
 *
 * Both pass the same requests to the same upstream; the gateway also checks the key, chooses the
 * worker, meters. What counts is the ratio of requests per second of processor time, which other
 * work on the machine disturbs least; requests per second of wall-clock time are printed next to it.
 *
 * `bun bench/relay.ts [--seconds 5] [--rounds 3]`. Needs nginx and wrk (Debian packages).
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@privatemode/service/testing'
import { listProcesses, readProcess } from '../test/process-table.ts'
import { median } from './median.ts'

const seconds = Number(optionOf('seconds') ?? 5)
const rounds = Number(optionOf('rounds') ?? 3)
const warmUpSeconds = Number(optionOf('warmUp') ?? 8)
const connections = 32
const adminToken = 'admin-token-of-the-benchmark-0123456789'
const registerToken = 'register-token-of-the-benchmark-0123456789'
const kinds = ['small', 'stream'] as const
const goals = { small: 0.5, stream: 0.7 } as const
const directory = mkdtempSync(join(tmpdir(), 'bench-relay-'))
const children: ReturnType<typeof Bun.spawn>[] = []

if (process.argv[2] === 'upstream') serveUpstream(Number(process.argv[3]))
else await main()

async function main(): Promise<void> {
  const missing = ['nginx', 'wrk'].filter((program) => Bun.which(program) === null)
  if (missing.length > 0) {
    console.log(`skipped: ${missing.join(' and ')} not installed (apt install nginx-light wrk)`)
    return
  }
  try {
    await measure()
  } finally {
    for (const child of children) child.kill()
    await Promise.all(children.map((child) => child.exited))
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measure(): Promise<void> {
  const [upstream, nginxPort, gatewayPort] = [freePort(), freePort(), freePort()]
  spawn([process.execPath, import.meta.path, 'upstream', String(upstream)])
  const nginx = spawn(['nginx', '-c', writeNginxConfig(nginxPort, upstream)])
  const gateway = spawn([process.execPath, 'apps/gateway/src/main.ts', ...gatewayArgs(gatewayPort)])
  await Promise.all([upstream, nginxPort].map((port) => untilOpen(`http://127.0.0.1:${port}/`)))
  await untilOpen(`http://127.0.0.1:${gatewayPort}/health`)
  const secret = await prepareGateway(gatewayPort, upstream)
  const peers = [
    { name: 'nginx', port: nginxPort, pid: childOf(nginx.pid) },
    { name: 'gateway', port: gatewayPort, pid: gateway.pid },
  ] as const
  for (const kind of kinds.filter((each) => (optionOf('kind') ?? each) === each)) {
    await load(gatewayPort, kind, secret, warmUpSeconds)
    const ratios: number[] = []
    for (let round = 0; round < rounds; round++) {
      const perCpu: number[] = []
      for (const { name, port, pid } of peers) {
        const before = cpuSeconds(pid)
        const { requests, failures, perSecond } = await load(port, kind, secret, seconds)
        const rate = requests / (cpuSeconds(pid) - before)
        perCpu.push(rate)
        const numbers = `${rate.toFixed(0)} per CPU second, ${perSecond.toFixed(0)} per second`
        console.log(`${kind} ${name}: ${numbers}${failures > 0 ? `, ${failures} FAILED` : ''}`)
      }
      ratios.push((perCpu[1] ?? 0) / (perCpu[0] ?? 1))
    }
    const all = ratios.map((ratio) => ratio.toFixed(2)).join(' ')
    console.log(
      `${kind}: gateway / nginx = ${median(ratios).toFixed(2)} (${all}), goal ${goals[kind]}`,
    )
  }
}

/** 1 KB in, 1 KB out; or 256 pieces of 200 bytes out, each sent at once. */
function serveUpstream(port: number): void {
  const headers = { 'content-type': 'application/privatemode-sealed' }
  const small = new Uint8Array(1024).fill(65)
  const piece = new Uint8Array(200).fill(66)
  Bun.serve({
    hostname: '127.0.0.1',
    port,
    idleTimeout: 0,
    async fetch(request) {
      await request.bytes()
      if (request.headers.get('privatemode-model') !== 'stream') {
        return new Response(small, { headers })
      }
      const pieces = new ReadableStream({
        type: 'direct',
        async pull(controller: ReadableStreamDirectController) {
          for (let count = 0; count < 256; count++) {
            controller.write(piece)
            await controller.flush()
            if (count % 8 === 7) await new Promise((resolve) => setImmediate(resolve))
          }
          controller.close()
        },
      })
      return new Response(pieces, { headers })
    },
  })
}

function writeNginxConfig(port: number, upstream: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join(' ')
  const path = join(directory, 'nginx.conf')
  const text = `worker_processes 1; daemon off; pid ${directory}/nginx.pid; error_log ${directory}/error.log;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 100000000; client_max_body_size 40m; ${temporary}
  upstream worker { server 127.0.0.1:${upstream}; keepalive 256; keepalive_requests 100000000; }
  server { listen 127.0.0.1:${port};
    location / { proxy_pass http://worker; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; } } }`
  writeFileSync(path, text)
  return path
}

function gatewayArgs(port: number): string[] {
  return [
    ['--port', String(port)],
    ['--dataDir', join(directory, 'gateway')],
    ['--adminToken', adminToken, '--registerToken', registerToken],
    ['--leaseSeconds', '3600'],
    // The upstream reports no usage; pending usage would be booked as lost during the measurement.
    ['--usageGraceMs', '3600000'],
  ].flat()
}

async function prepareGateway(port: number, upstream: number): Promise<string> {
  const call = async (method: string, path: string, body: unknown) => {
    const response = await fetch(`http://127.0.0.1:${port}/privatemode/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${path.startsWith('registry/') ? registerToken : adminToken}`,
      },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as { secret: string }
  }
  await call('PUT', 'registry/workers/w_one', {
    url: `http://127.0.0.1:${upstream}`,
    models: kinds.map((id) => ({ id, created: 1, display_name: id, tasks: ['generate'] })),
    seal_key_id: 'ab'.repeat(16),
    receipt_key: Buffer.alloc(32).toString('base64'),
    relay_key: Buffer.alloc(32).toString('base64'),
    capacity: 1000,
    active: 0,
    draining: false,
  })
  return (await call('POST', 'admin/keys', { name: 'benchmark' })).secret
}

type Load = { readonly requests: number; readonly failures: number; readonly perSecond: number }

/** Every request has its own id, as real ones do. */
async function load(port: number, kind: string, secret: string, duration: number): Promise<Load> {
  const script = join(directory, `${kind}.lua`)
  writeFileSync(
    script,
    `local count = 0
local headers = { ['content-type'] = 'application/privatemode-sealed',
  ['authorization'] = 'Bearer ${secret}', ['privatemode-model'] = '${kind}',
  ['privatemode-path'] = '/v1/chat/completions', ['privatemode-workers'] = 'w_one' }
local body = string.rep('x', 1024)
local run = string.format('%08x', math.floor(${Math.floor(Math.random() * 2 ** 31)}))
request = function()
  count = count + 1
  headers['privatemode-request-id'] = run .. string.format('%024x', count)
  return wrk.format('POST', '/privatemode/v1/sealed', headers, body)
end`,
  )
  const url = `http://127.0.0.1:${port}`
  const args = ['-t1', `-c${connections}`, `-d${duration}s`, '-s', script, url]
  const child = Bun.spawn(['wrk', ...args], { stdout: 'pipe' })
  const text = await new Response(child.stdout).text()
  const numberIn = (shape: RegExp) => Number(shape.exec(text)?.[1] ?? 0)
  const errors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text)
  const broken = (errors?.slice(1) ?? []).reduce((sum, each) => sum + Number(each), 0)
  return {
    requests: numberIn(/(\d+) requests in/),
    failures: numberIn(/Non-2xx or 3xx responses: (\d+)/) + broken,
    perSecond: numberIn(/Requests\/sec:\s+([\d.]+)/),
  }
}

function spawn(command: string[]): ReturnType<typeof Bun.spawn> {
  const cwd = join(import.meta.dir, '..')
  const child = Bun.spawn(command, { stdio: ['ignore', 'ignore', 'ignore'], cwd })
  children.push(child)
  return child
}

function cpuSeconds(pid: number): number {
  return (readProcess(pid)?.cpuMs ?? Number.NaN) / 1000
}

function childOf(parent: number): number {
  const child = listProcesses().find((one) => one.parent === parent)
  if (child === undefined) throw new Error('nginx has no worker process')
  return child.pid
}

async function untilOpen(url: string): Promise<void> {
  for (;;) {
    if ((await fetch(url).catch(() => undefined)) !== undefined) return
    await Bun.sleep(50)
  }
}

function optionOf(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? undefined : process.argv[at + 1]
}
