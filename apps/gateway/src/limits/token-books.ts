/** Estimates how many tokens a key's requests use. */
import type { Queries, Row } from '../state/database.ts'

export type TokenBooksOptions = {
  readonly database: Queries
  readonly clock: () => number
}

type Entry = { value: number; readAtMs: number; reading: Promise<number> | undefined }

const estimateMaxAgeMs = 5_000
const maxEntries = 10_000
/** For a request about which only its padded length is known. */
const bytesPerToken = 6
const answerTokens = 200

export class TokenBooks {
  readonly #options: TokenBooksOptions
  readonly #estimates = new Map<string, Entry>()

  constructor(options: TokenBooksOptions) {
    this.#options = options
  }

  /** The tokens a request of this key may use: the mean of its latest ones. */
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
