/** What is known about tokens: how many a key's requests take. */
import type { Queries, Row } from '../state/database.ts'

export type TokenBooksOptions = {
  readonly database: Queries
  readonly clock: () => number
}

type Entry = { value: number; readAtMs: number; reading: Promise<number> | undefined }

const estimateMaxAgeMs = 5_000
const maxEntries = 10_000
/** A request of which nothing is known but its padded length. */
const bytesPerToken = 6
const answerTokens = 200

export class TokenBooks {
  readonly #options: TokenBooksOptions
  readonly #estimates = new Map<string, Entry>()

  constructor(options: TokenBooksOptions) {
    this.#options = options
  }

  /** Tokens that a request of this key may take: the mean of its last ones. */
  estimate(keyId: string, lengthBytes: number): number | Promise<number> {
    const mean = this.#read(keyId, async () => {
      const [row] = await this.#options.database.query<{ mean: number | null } & Row>(
        `select avg(tokens)::float8 as mean from (
           select prompt_tokens::bigint + completion_tokens as tokens from usage
           where key_id = $1 and outcome <> 'lost' order by started_at desc limit 20) as newest`,
        [keyId],
      )
      return row?.mean ?? -1
    })
    const guess = Math.ceil(lengthBytes / bytesPerToken) + answerTokens
    const choose = (value: number) => (value < 0 ? guess : Math.ceil(value))
    return mean instanceof Promise ? mean.then(choose) : choose(mean)
  }

  #read(id: string, ask: () => Promise<number>): number | Promise<number> {
    const nowMs = this.#options.clock()
    const entries = this.#estimates
    const known = entries.get(id)
    if (known !== undefined && nowMs - known.readAtMs < estimateMaxAgeMs) return known.value
    if (known?.reading !== undefined) return known.reading
    const reading = ask().then(
      (value) => {
        entries.set(id, { value, readAtMs: nowMs, reading: undefined })
        return value
      },
      (error: unknown) => {
        entries.delete(id)
        throw error
      },
    )
    if (entries.size >= maxEntries) entries.clear()
    entries.set(id, { value: 0, readAtMs: -Infinity, reading })
    return reading
  }
}
