/** Clients that ask all the time while something happens to the cluster, and what became of their requests. */
import { must } from '../confined/rows.ts'

export type Traffic = {
  /** Answers so far. */
  answered(): number
  /** Ends after at least so many answers, and reports how many requests were lost, and how. */
  end(least: number): Promise<Outcome>
}

export type Outcome = {
  readonly answered: number
  readonly lost: readonly string[]
  /** The longest time that one answer took. */
  readonly slowestMs: number
}

const clients = 8

/** Requests as an application makes them that does not retry; every second client's answers take a while. */
export function startTraffic(url: string): Traffic {
  let stopAt = Number.POSITIVE_INFINITY
  let answered = 0
  let slowestMs = 0
  const lost: string[] = []
  const working = Array.from({ length: clients }, async (_, index) => {
    const content = `${index % 2 === 0 ? '[[slow 500]]' : ''}[[say all is well]]`
    const body = JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content }] })
    while (answered < stopAt) {
      const started = performance.now()
      const failure = await ask(url, body)
      slowestMs = Math.max(slowestMs, performance.now() - started)
      if (failure === undefined) answered++
      else {
        lost.push(failure)
        // A refusal takes no time: without a pause one fault would be counted a thousand times.
        await Bun.sleep(200)
      }
    }
  })
  return {
    answered: () => answered,
    async end(least) {
      stopAt = least
      await Promise.all(working)
      return { answered, lost, slowestMs }
    },
  }
}

async function ask(url: string, body: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(60_000),
    })
    const text = await response.text()
    return response.ok && text.includes('all is well')
      ? undefined
      : `${response.status} ${text.slice(0, 200)}`
  } catch (error) {
    return String(error)
  }
}

export function formatOutcome({ answered, lost, slowestMs }: Outcome): string {
  const slowest = `the slowest took ${(slowestMs / 1000).toFixed(1)} s`
  return `${answered} answered, ${lost.length} lost, ${slowest}`
}

export function mustLoseNothing(outcome: Outcome): string {
  const kinds = [...new Set(outcome.lost)].slice(0, 3).join('; ')
  must(outcome.lost.length === 0, `${formatOutcome(outcome)}: ${kinds}`)
  return formatOutcome(outcome)
}
