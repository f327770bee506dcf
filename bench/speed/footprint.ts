/** How soon the proxy's binary answers its first verified request, and how much memory it holds when idle. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileProxy } from '../../scripts/deploy/compile-proxy.ts'
import { findTarget } from '../../scripts/deploy/targets.ts'
import { requestBody } from '../load/load-spec.ts'
import { freePort } from './child.ts'
import { type Backend, startProxyProcess } from './ours.ts'
import type { Place } from './plain-proxies.ts'

export type Footprint = {
  readonly firstAnswerMs: readonly number[]
  readonly idleMiB: readonly number[]
}

const rounds = 5
const idleAfterMs = 3_000
const pollMs = 1
const startWithinMs = 30_000

export async function measureFootprint(place: Place, backend: Backend): Promise<Footprint> {
  const binary = join(place.folder, 'privatemode-proxy')
  compileProxy(findTarget(`linux-${process.arch === 'x64' ? 'amd64' : 'arm64'}`), binary)
  const firstAnswerMs: number[] = []
  const idleMiB: number[] = []
  for (let round = 0; round < rounds; round++) {
    const port = freePort()
    const startedMs = performance.now()
    const child = startProxyProcess(place, backend, 'default', port, [], [binary])
    while (!(await answers(port))) {
      if (performance.now() - startedMs > startWithinMs) throw new Error('the proxy did not start')
      await Bun.sleep(pollMs)
    }
    firstAnswerMs.push(performance.now() - startedMs)
    await Bun.sleep(idleAfterMs)
    idleMiB.push(residentMiB(child.pid))
    await child.stop()
  }
  return { firstAnswerMs, idleMiB }
}

/** A chat is answered only once a worker is verified. */
async function answers(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: requestBody({ kind: 'chat', bodyBytes: 1024 }),
  }).catch(() => undefined)
  return response?.status === 200 && (await response.text()).includes('chat.completion')
}

function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}
