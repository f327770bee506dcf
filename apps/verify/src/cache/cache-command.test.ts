import { afterAll, describe, expect, test } from 'bun:test'
import {
  type ScriptedServer,
  type ScriptedServerOptions,
  startScriptedServer,
} from '../../../../packages/inference/src/testing/scripted-server.ts'
import { thrown } from '../../../../test/rejection.ts'
import { cacheCommand } from './cache-command.ts'

const servers: ScriptedServer[] = []
afterAll(() => Promise.all(servers.map((server) => server.stop())))

/** A new prompt then takes 28 ms and a repeated one 3 ms. */
const slow = 0.4

function start(options: ScriptedServerOptions): ScriptedServer {
  const server = startScriptedServer(options)
  servers.push(server)
  return server
}

/** Called without a worker in between, a server uses one cache for all requests without a salt. */
const usual = { model: 'scripted', words: '64', 'no-salt': 'shared' }

async function run(url: string, given: Readonly<Record<string, string>>, ...switches: string[]) {
  const lines: string[] = []
  const errors: string[] = []
  const output = {
    out: (text: string) => lines.push(text),
    error: (text: string) => errors.push(text),
  }
  const options = Object.entries({ url, ...usual, ...given })
  const args = [...options.map(([name, value]) => `--${name}=${value}`), ...switches]
  return { code: await cacheCommand.run(args, output), lines, errors }
}

/** Retries if a busy machine has masked the timing: that yields no verdict, never a wrong one. */
async function judgeByTimes(options: ScriptedServerOptions) {
  for (let attempt = 1; ; attempt++) {
    const judged = await judge({ ...options, prefillMsPerToken: slow })
    if (judged.report.verdict !== 'cannot-tell' || attempt === 4) return judged
  }
}

async function judge(options: ScriptedServerOptions, given = {}) {
  const { code, lines } = await run(start(options).url, given, '--json')
  return { code, report: JSON.parse(lines[0]!) }
}

describe('a model server', () => {
  test('that keeps salts apart isolates: exit code 0', async () => {
    const { code, report } = await judge({ cache: 'salted', prefillMsPerToken: 0.05 })
    expect([code, report.verdict]).toEqual([0, 'isolates'])
    const [same, other] = report.comparisons
    expect([same.hits, other.hits]).toEqual([16, 0])
  })

  test('that shares across salts: exit code 1', async () => {
    const { code, report } = await judge({ cache: 'shared' }, { rounds: '2' })
    expect([code, report.verdict]).toEqual([1, 'shares'])
  })

  test.concurrent('that shares across salts but reports otherwise is detected by its timing', async () => {
    const { code, report } = await judgeByTimes({
      cache: 'shared',
      reportsCache: 'as-salted',
    })
    expect([code, report.verdict, report.basis]).toEqual([1, 'shares', 'times'])
    expect(report.wasRepeated).toBe(true)
  }, 240_000)

  test.concurrent('that caches nothing: exit code 3', async () => {
    const { code, report } = await judgeByTimes({ cache: 'none' })
    expect([code, report.verdict]).toEqual([3, 'caches-nothing'])
  }, 240_000)

  test('with inconclusive reports and timing: exit code 4', async () => {
    const { code, report } = await judge({ reportsCache: false }, { rounds: '5' })
    expect([code, report.verdict]).toEqual([4, 'cannot-tell'])
  })

  test('that gives requests without a salt one cache shares where that is not expected', async () => {
    const { code, report } = await judge({ cache: 'salted' }, { 'no-salt': 'apart', rounds: '2' })
    expect([code, report.verdict]).toEqual([1, 'shares'])
  })
})

test('no text or salt is sent twice except in a pair, and prompts shrink until they fit', async () => {
  const server = start({ contextLength: 40 })
  const { lines } = await run(server.url, { rounds: '3', words: '100' })
  const prompts = server.requests.map(({ body }) => JSON.stringify(body.messages))
  const repeated = prompts.filter(
    (prompt) => prompts.indexOf(prompt) !== prompts.lastIndexOf(prompt),
  )
  expect(repeated.length).toBe(3 * 2 * 3)
  const salts = server.requests
    .map(({ body }) => body.cache_salt)
    .filter((salt) => salt !== undefined)
  expect(salts.length - new Set(salts).size).toBe(3)
  expect(lines[0]).toStartWith('ISOLATES')
  expect(lines.join('\n')).toMatch(/prompts of 3\d tokens/)
  expect(lines.at(-1)).toBe('Times cannot tell in fewer than 10 rounds.')
})

test('a second key is asked for what the first one sent', async () => {
  const server = start({ cache: 'shared' })
  const keys = { 'api-key': 'first', 'other-api-key': 'second', rounds: '1' }
  const { lines } = await run(server.url, keys, '--json')
  const { comparisons } = JSON.parse(lines[0]!)
  expect(comparisons.at(-1)).toMatchObject({ probe: 'otherKey', expected: 'apart', hits: 1 })
  const used = new Set(server.requests.map(({ headers }) => headers.get('authorization')))
  expect(used).toEqual(new Set(['Bearer first', 'Bearer second']))
})

test('an unreachable or refusing server is inconclusive: exit code 4', async () => {
  const refusing = start({ reply: () => ({ error: { status: 401, message: 'who are you' } }) })
  for (const url of ['http://127.0.0.1:1', refusing.url]) {
    const { code, lines, errors } = await run(url, {}, '--json')
    expect([code, JSON.parse(lines[0]!).verdict]).toEqual([4, 'cannot-tell'])
    expect(errors[0]).toStartWith('the probes failed: ')
  }
})

test('a usage error is reported before anything is sent', async () => {
  for (const args of [
    [],
    ['--url', 'ftp://x', '--model', 'm'],
    ['--url', 'http://x', '--model', 'm', '--rounds', '0'],
    ['--url', 'http://x', '--model', 'm', '--no-salt', 'perhaps'],
    ['--url', 'http://x', '--model', 'm', '--json=yes'],
  ]) {
    expect(await thrown(cacheCommand.run(args, { out: () => {}, error: () => {} }))).toThrow()
  }
})

test("the worker's own report on each path is shown, and a failure to read it is not a verdict", async () => {
  const lines = ['chat', 'messages'].map(
    (endpoint) =>
      `privatemode_worker_cache_isolation{model="a\\"b",endpoint="${endpoint}",state="proven"} 1`,
  )
  const metrics = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => new Response(url.endsWith('/metrics') ? `up 1\n${lines.join('\n')}\n` : ''),
  })
  try {
    const server = start({})
    const given = { rounds: '1', 'worker-metrics': `${metrics.url}metrics` }
    const shown = await run(server.url, given)
    expect(shown.lines.slice(-3)).toEqual([
      "By the worker's own account:",
      'chat           proven      a"b',
      'messages       proven      a"b',
    ])
    const told = await run(server.url, given, '--json')
    expect(JSON.parse(told.lines[0]!).worker_paths).toHaveLength(2)
    const other = await run(server.url, { ...given, 'worker-metrics': `${metrics.url}` })
    expect(other.code).toBe(4)
    expect(other.errors[0]).toContain('has no privatemode_worker_cache_isolation')
  } finally {
    await metrics.stop(true)
  }
})
