/** How soon the proxy listens and is ready, and how much memory it takes, idle and with 256 open streams. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@privatemode/service/testing'
import { runtimeVariables } from '../apps/proxy/src/runtime-variables.ts'
import { firstLine } from './first-line.ts'
import { median } from './median.ts'

const goals = { listeningMs: 300, readyMs: 1000, idleMiB: 80, streamsMiB: 150 }
const streams = 256
const rounds = 5

const folder = mkdtempSync(join(tmpdir(), 'privatemode-footprint-'))
const manifestPath = join(folder, 'manifest.json')
const here = import.meta.dir

const backend = Bun.spawn(
  [process.execPath, join(here, 'sealed-backend.ts'), '--manifest', manifestPath, '--paceMs', '40'],
  { stdout: 'pipe', stderr: 'inherit', env: manyRequests() },
)
const facts = await firstLine(backend.stdout)
const { url, rootFingerprint } = JSON.parse(facts) as { url: string; rootFingerprint: string }

try {
  const starts: { listeningMs: number; readyMs: number }[] = []
  for (let round = 0; round < rounds; round++) {
    const { child, ...times } = await startProxy()
    starts.push(times)
    child.kill()
    await child.exited
  }
  const { child, port } = await startProxy()
  await Bun.sleep(3000)
  const idleMiB = residentMiB(child.pid)
  const streamsMiB = await openStreams(port, child.pid)
  child.kill()
  await child.exited
  const listeningMs = median(starts.map((start) => start.listeningMs))
  const readyMs = median(starts.map((start) => start.readyMs))
  const figures = { listeningMs, readyMs, idleMiB, streamsMiB }
  for (const [name, goal] of Object.entries(goals)) {
    const figure = figures[name as keyof typeof goals]
    console.log(
      `${name.padEnd(12)} ${figure.toFixed(0).padStart(6)}  goal < ${goal}  ${figure < goal ? 'met' : 'MISSED'}`,
    )
  }
} finally {
  backend.kill()
  rmSync(folder, { recursive: true, force: true })
}

async function startProxy() {
  const port = freePort()
  const begun = performance.now()
  const child = Bun.spawn(
    [
      ...[process.execPath, join(here, '../apps/proxy/src/main.ts'), '--port', String(port)],
      ...['--apiEndpoint', url, '--manifestPath', manifestPath, '--apiKey', 'bench'],
      ...['--allowSoftwareAttestation', '--softwareRootFingerprint', rootFingerprint],
      ...['--workspace', folder, '--log-level', 'error', '--trafficShape', 'off'],
    ],
    { stdout: 'ignore', stderr: 'inherit', env: { PATH: process.env.PATH ?? '' } },
  )
  const since = async (path: string) => {
    for (;;) {
      const status = await fetch(`http://127.0.0.1:${port}${path}`).then(
        (response) => response.status,
        () => 0,
      )
      if (status === 200) return performance.now() - begun
      await Bun.sleep(2)
    }
  }
  const listeningMs = await since('/health')
  const readyMs = await since('/ready')
  return { child, port, listeningMs, readyMs }
}

/** Opens the streams, reads them to their end, and returns the peak memory. */
async function openStreams(port: number, pid: number): Promise<number> {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, residentMiB(pid))
  }, 100)
  const body = JSON.stringify({ model: 'bench', stream: true, messages: [] })
  const reads = Array.from({ length: streams }, async () => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const text = await response.text()
    if (!text.endsWith('data: [DONE]\n\n')) throw new Error('a stream did not come to its end')
  })
  await Promise.all(reads)
  clearInterval(timer)
  return most
}

function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}

function manyRequests(): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    BUN_CONFIG_MAX_HTTP_REQUESTS: '16384',
    ...runtimeVariables,
  }
}
