import { describe, expect, test } from 'bun:test'
import { ApiError } from '@privatemode/protocol/api'
import { rejection } from '../../../../test/rejection.ts'
import type { AskProbe, Probe } from './cache-probe.ts'
import { runCanary } from './run-canary.ts'

/** A backend with a custom cache; its timings are simulated, so the test machine has no influence. */
function backend(shares: (run: number) => boolean): AskProbe {
  const known = new Set<string>()
  let longs = 0
  return async ({ prompt, salt }: Probe) => {
    const isLong = prompt.length > 100
    if (isLong) longs++
    const run = longs <= 1 + 16 * 8 ? 0 : 1 // one warm-up, then 8 long prompts per round
    const own = `${salt ?? Math.random()} ${prompt}`
    const isHit = known.has(own) || (shares(run) && known.has(prompt))
    known.add(own).add(prompt)
    const firstTokenMs = isLong && !isHit ? 50 + Math.random() : Math.random()
    return { firstTokenMs, promptTokens: undefined, cachedTokens: undefined }
  }
}

describe('an alarm from timings alone', () => {
  test('is raised if a second run confirms it', async () => {
    const report = await runCanary({ ask: backend(() => true) })
    expect(report).toMatchObject({ verdict: 'shares', basis: 'times', wasRepeated: true })
  })

  test('is not raised if a second run does not confirm it', async () => {
    const report = await runCanary({ ask: backend((run) => run === 0) })
    expect(report).toMatchObject({ verdict: 'cannot-tell', wasRepeated: true })
  })

  test('causes no second run if there is none', async () => {
    const report = await runCanary({ ask: backend(() => false) })
    expect(report).toMatchObject({ verdict: 'isolates', basis: 'times', wasRepeated: false })
  })
})

test('the order of probes differs from round to round', async () => {
  const asked: string[] = []
  const ask: AskProbe = async ({ salt, prompt }) => {
    asked.push(`${salt === undefined} ${prompt.length > 100}`)
    return { firstTokenMs: 1, promptTokens: 1, cachedTokens: 0 }
  }
  await runCanary({ ask, rounds: 20 })
  const rounds = Array.from({ length: 20 }, (_, at) => asked.slice(2 + at * 9, 11 + at * 9).join())
  expect(new Set(rounds).size).toBeGreaterThan(5)
})

test('a busy backend is retried after the delay it requests; any other refusal ends the run', async () => {
  let refusals = 0
  const good = backend(() => false)
  const busy: AskProbe = async (probe, signal) => {
    if (refusals++ === 3) {
      throw new ApiError('rate_limit_exceeded', 'later', { retryAfterSeconds: 0 })
    }
    return good(probe, signal)
  }
  expect((await runCanary({ ask: busy, rounds: 1 })).rounds).toBe(1)
  const refused = async () => {
    throw new ApiError('invalid_api_key', 'no')
  }
  expect(await rejection(runCanary({ ask: refused }))).toMatchObject({ code: 'invalid_api_key' })
})

test('an abort ends the run', async () => {
  const stop = new AbortController()
  const good = backend(() => false)
  const ask: AskProbe = async (probe, signal) => {
    stop.abort()
    signal.throwIfAborted()
    return good(probe, signal)
  }
  expect(await rejection(runCanary({ ask, signal: stop.signal }))).toMatchObject({
    name: 'AbortError',
  })
})
