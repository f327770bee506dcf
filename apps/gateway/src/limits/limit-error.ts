/** The refusal of a request over a limit, with the headers that clients of both dialects read. */
import { ApiError } from '@privatemode/protocol/api'
import type { Allowance } from './allowance.ts'

export type LimitRefusal = {
  readonly message: string
  readonly retryAfterMs: number
  /** Header lines, each terminated by CRLF. */
  readonly fields: string
}

export class LimitError extends ApiError {
  readonly fields: string

  constructor(code: 'rate_limit_exceeded' | 'insufficient_quota', refusal: LimitRefusal) {
    super(code, refusal.message, {
      retryAfterSeconds: Math.max(1, Math.ceil(refusal.retryAfterMs / 1000)),
    })
    this.fields = refusal.fields
  }
}

/** The caller has its share of a worker or of the gateway. */
export function refuseShare(): LimitError {
  return new LimitError('rate_limit_exceeded', {
    message:
      'this key has used up its share of concurrent requests; the rest is reserved for others',
    retryAfterMs: 1_000,
    fields: '',
  })
}

/** The caller's remaining allowance: the scarcer one of its key's and its account's. */
export function formatLimitFields(path: string, allowances: readonly Allowance[]): string {
  const anthropic = path.startsWith('/v1/messages')
  let lines = ''
  for (const kind of ['requests', 'tokens'] as const) {
    const scarcest = allowances
      .filter((allowance) => allowance.kind === kind)
      .toSorted((a, b) => a.remaining - b.remaining)[0]
    if (scarcest === undefined) continue
    const { limit, remaining, retryAfterMs } = scarcest
    const values = [`${limit}`, `${remaining}`, formatReset(anthropic, retryAfterMs)]
    for (const [index, what] of ['limit', 'remaining', 'reset'].entries()) {
      const name = anthropic ? `anthropic-ratelimit-${kind}-${what}` : `x-ratelimit-${what}-${kind}`
      lines += `${name}: ${values[index]}\r\n`
    }
  }
  return lines
}

/** OpenAI's clients expect a duration, Anthropic's a time. */
function formatReset(anthropic: boolean, ms: number): string {
  if (anthropic) return new Date(Date.now() + ms).toISOString().replace(/\.\d+Z$/, 'Z')
  return ms < 1000 ? `${Math.ceil(ms)}ms` : `${(ms / 1000).toFixed(1)}s`
}
