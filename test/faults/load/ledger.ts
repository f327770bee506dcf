/** What the system has acknowledged and must therefore preserve: keys, revocations, usage. */
import type { Fleet } from '../fleet/fleet.ts'
import { soon } from '../fleet/fleet.ts'
import type { QuestionShape } from './question.ts'
import type { Reply } from './raw-exchange.ts'

type Completed = { readonly words: number | undefined }
type Key = {
  readonly id: string
  readonly secret: string
  /** It is being revoked, or was. */
  readonly doomed: boolean
  revoked: boolean
}
type UsageRow = { readonly id: string; readonly outcome: string; readonly tokens: number }

export type Settled = {
  readonly violations: string[]
  /** Requests whose row is allowed to say less than `complete`. */
  readonly lostReports: number
}

const batch = 5_000

export class Ledger {
  readonly #fleet: Fleet
  readonly #sql: Bun.SQL
  #completed = new Map<string, Completed>()
  #keys: Key[] = []
  #checkedKeys = 0
  #churning: Promise<void> | undefined
  #stopped = false
  requests = 0
  keys = 0

  constructor(fleet: Fleet) {
    this.#fleet = fleet
    this.#sql = new Bun.SQL(fleet.postgres.url, { max: 1, idleTimeout: 1 })
  }

  completed(reply: Reply, shape: QuestionShape): void {
    const id = reply.headers.get('x-request-id')
    if (id === undefined || reply.status !== 200 || reply.ending === 'left') return
    this.requests++
    this.#completed.set(id, { words: shape.kind === 'embeddings' ? undefined : shape.words })
  }

  /** Creates keys periodically and revokes every third. */
  startChurn(everyMs: number): void {
    this.#churning = (async () => {
      while (!this.#stopped) {
        await this.#makeKey().catch(() => {}) // not acknowledged, so nothing is owed
        await Bun.sleep(everyMs)
      }
    })()
  }

  /** Secrets that work, the newest last. */
  get secrets(): readonly string[] {
    return this.#keys.filter(({ doomed }) => !doomed).map(({ secret }) => secret)
  }

  /** Forgets checked keys except the newest. */
  trim(most: number): void {
    const old = Math.min(this.#checkedKeys, Math.max(0, this.#keys.length - most))
    this.#keys = this.#keys.slice(old)
    this.#checkedKeys -= old
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#churning
    await this.#sql.close()
  }

  /** Checks everything acknowledged since the last call; reports may take until `limitMs`. */
  async settle(mayLose: boolean, limitMs: number): Promise<Settled> {
    const usage = await this.#settleUsage(mayLose, limitMs)
    return { ...usage, violations: [...usage.violations, ...(await this.#checkKeys())] }
  }

  /** Checks once what is owed and keeps unbooked requests for later; checks keys. */
  async prune(): Promise<readonly string[]> {
    const ids = [...this.#completed.keys()]
    const rows = await this.#rows(ids)
    for (const id of ids) {
      const owed = this.#completed.get(id)
      if (owed !== undefined && faultOf(rows.get(id), owed) === undefined)
        this.#completed.delete(id)
    }
    return this.#checkKeys()
  }

  async #makeKey(): Promise<void> {
    const made = await this.#fleet.admin('POST', '/keys', { name: `key ${this.keys}` })
    if (made.status !== 201) return
    const { id, secret } = (await made.json()) as { id: string; secret: string }
    this.keys++
    const doomed = this.keys % 3 === 0
    const key: Key = { id, secret, doomed, revoked: false }
    this.#keys.push(key)
    if (!doomed) return
    const gone = await this.#fleet.admin('DELETE', `/keys/${id}`)
    if (gone.status === 200) key.revoked = true
    // Whether an unacknowledged revocation took place is unknown: nothing is owed either way.
    else this.#keys.splice(this.#keys.indexOf(key), 1)
  }

  async #checkKeys(): Promise<string[]> {
    const violations: string[] = []
    const fresh = this.#keys.slice(this.#checkedKeys)
    this.#checkedKeys = this.#keys.length
    for (const key of fresh) {
      const { revoked } = key
      const status = await this.#tryKey(key.secret)
      // A key that is being revoked may or may not work; a revoked one must not.
      const right = revoked ? status === 401 : status === 200 || (key.doomed && status === 401)
      if (!right) violations.push(`key ${key.id}: status ${status}, revoked ${revoked}`)
    }
    return violations
  }

  async #tryKey(secret: string): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      try {
        const headers = { authorization: `Bearer ${secret}` }
        const url = `${this.#fleet.gatewayUrl}/privatemode/v1/directory`
        const response = await fetch(url, { headers, ...soon(), keepalive: false })
        await response.arrayBuffer()
        if (response.status < 500 || attempt === 5) return response.status
      } catch {
        if (attempt === 5) return 0
      }
      await Bun.sleep(200)
    }
  }

  async #settleUsage(mayLose: boolean, limitMs: number): Promise<Settled> {
    const owed = this.#completed
    this.#completed = new Map()
    const endMs = performance.now() + limitMs
    const violations: string[] = []
    let lostReports = 0
    let left = [...owed.keys()]
    for (;;) {
      const rows = await this.#rows(left)
      const missing: string[] = []
      const final = performance.now() > endMs
      for (const id of left) {
        const fault = faultOf(rows.get(id), owed.get(id)!)
        if (fault === undefined) continue
        // A better report may still be on its way.
        if (!final) missing.push(id)
        else if (fault === 'lost' && mayLose) lostReports++
        else violations.push(`usage of ${id}: ${fault}`)
      }
      left = missing
      if (left.length === 0) break
      if (mayLose && left.every((id) => rows.get(id)?.outcome === 'lost')) {
        lostReports += left.length
        break
      }
      await Bun.sleep(250)
    }
    return { violations: [...violations, ...(await this.#checkSums())], lostReports }
  }

  async #rows(ids: readonly string[]): Promise<Map<string, UsageRow>> {
    const found = new Map<string, UsageRow>()
    for (let start = 0; start < ids.length; start += batch) {
      const some = JSON.stringify(ids.slice(start, start + batch))
      const rows: UsageRow[] = await this.#sql`
        select replace(request_id::text, '-', '') as id, outcome, completion_tokens as tokens
        from usage
        where request_id in (select jsonb_array_elements_text(${some}::text::jsonb)::uuid)`
      for (const row of rows) found.set(row.id, row)
    }
    return found
  }

  /** Sums are stored next to the rows, so double counting shows there. */
  async #checkSums(): Promise<string[]> {
    const [row] = await this.#sql`
      select (select count(*) from usage)::text as rows,
        (select sum(requests) from usage_hourly)::text as summed,
        (select sum(completion_tokens) from usage)::text as tokens,
        (select sum(completion_tokens) from usage_hourly)::text as summed_tokens`
    const { rows, summed, tokens, summed_tokens } = row as Record<string, string>
    return rows === summed && tokens === summed_tokens
      ? []
      : [`sums of usage: ${rows} rows, ${summed} summed; ${tokens} tokens, ${summed_tokens} summed`]
  }
}

function faultOf(row: UsageRow | undefined, { words }: Completed): string | undefined {
  if (row === undefined) return 'missing'
  if (row.outcome !== 'complete') return row.outcome
  if (words !== undefined && row.tokens !== words) return `${row.tokens} tokens, not ${words}`
  return undefined
}
