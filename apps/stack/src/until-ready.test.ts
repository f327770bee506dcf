import { afterEach, expect, test } from 'bun:test'
import { untilReady } from './until-ready.ts'

const servers: { stop(closesNow: boolean): Promise<void> }[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true)
})

/** Refuses until it was asked that many times. */
function partThatNeeds(questions: number): string {
  let asked = 0
  const fetch = () => new Response('', { status: ++asked < questions ? 503 : 200 })
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch })
  servers.push(server)
  return server.url.href
}

function waiting(url: string, limits: { readyMs?: number; patienceMs?: number }) {
  const lines: string[] = []
  const aborter = new AbortController()
  const common = {
    name: 'proxy',
    logPath: '/logs/proxy.log',
    say: (line: string) => lines.push(line),
  }
  const ready = untilReady({
    ...common,
    ...{ url, signal: aborter.signal, limits: { pauseMs: 1, ...limits } },
  })
  return { lines, aborter, ready }
}

test('a part that takes long is waited for, and the user is told', async () => {
  const { ready, lines } = waiting(partThatNeeds(5), { patienceMs: 0 })
  await ready
  expect(lines).toHaveLength(4)
  expect(lines[0]).toMatch(/^the proxy is not ready after \d+ s; still waiting$/)
})

test('a part that answers soon is not mentioned', async () => {
  const { ready, lines } = waiting(partThatNeeds(3), { patienceMs: 3_600_000 })
  await ready
  expect(lines).toEqual([])
})

test('a part that never answers fails the start, with the file that says why', async () => {
  const { ready } = waiting(partThatNeeds(Number.POSITIVE_INFINITY), { readyMs: 20 })
  const error = await ready.catch((thrown) => thrown)
  expect(error.code).toBe('part_failed')
  expect(error.message).toBe('the proxy was not ready after 0.02 s; read /logs/proxy.log')
})

test('a start that is stopped waits no longer', async () => {
  const { ready, aborter } = waiting(partThatNeeds(Number.POSITIVE_INFINITY), {})
  aborter.abort()
  const error = await ready.catch((thrown) => thrown)
  expect(error.message).toBe('stopped before everything was ready')
})
