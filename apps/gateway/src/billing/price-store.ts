/** Prices of models. A change is a new row: what was billed before stays as it was. */
import { ApiError } from '@privatemode/protocol/api'
import type { ModelPrice, Prices } from '@privatemode/protocol/fleet'
import type { Queries, Row } from '../state/database.ts'

type PriceRow = Row & { [Field in keyof ModelPrice]: ModelPrice[Field] | null }

/** The prices in force. */
export async function readPrices(queries: Queries): Promise<Prices> {
  const [billing] = await queries.query<Row & { currency: string }>('select currency from billing')
  const rows = await queries.query<PriceRow>(
    `select * from (
       select distinct on (model) model, input_micros, cached_micros, output_micros
       from model_prices order by model, valid_from desc) as latest
     where input_micros is not null order by model`,
  )
  return { currency: billing?.currency ?? null, models: rows as unknown as ModelPrice[] }
}

/** These prices and no others from now on; answers with what changed. */
export async function setPrices(
  queries: Queries,
  currency: string,
  models: readonly ModelPrice[],
): Promise<{ readonly prices: Prices; readonly changed: readonly string[] }> {
  await queries.script('lock table billing in exclusive mode')
  const before = await readPrices(queries)
  if (before.currency !== currency) await setCurrency(queries, before.currency, currency)
  const old = new Map(before.models.map((price) => [price.model, price]))
  const changed = models.filter((price) => !isSame(price, old.get(price.model)))
  const named = new Set(models.map(({ model }) => model))
  const removed = before.models.map(({ model }) => model).filter((model) => !named.has(model))
  await queries.query(
    `insert into model_prices
     select model, date_trunc('milliseconds', clock_timestamp()), input_micros, cached_micros, output_micros
     from jsonb_to_recordset($1::jsonb) as p(
       model text, input_micros bigint, cached_micros bigint, output_micros bigint)
     on conflict (model, valid_from) do update set input_micros = excluded.input_micros,
       cached_micros = excluded.cached_micros, output_micros = excluded.output_micros`,
    [JSON.stringify([...changed, ...removed.map((model) => ({ model }))])],
  )
  return {
    prices: await readPrices(queries),
    changed: [
      ...changed.map(
        (price) =>
          `${price.model} ${price.input_micros}/${price.cached_micros}/${price.output_micros}`,
      ),
      ...removed.map((model) => `${model} removed`),
    ],
  }
}

/** Amounts in two currencies cannot be added up. */
async function setCurrency(queries: Queries, old: string | null, now: string): Promise<void> {
  const [used] = await queries.query(
    'select 1 from usage_monthly where cost_micros <> 0 union all select 1 from budgets limit 1',
  )
  if (used !== undefined) {
    const message = `costs and budgets are in ${old} already; the currency cannot change any more`
    throw new ApiError('invalid_value', message, { status: 409, param: 'currency' })
  }
  await queries.query(
    `insert into billing (currency) values ($1)
     on conflict (id) do update set currency = excluded.currency`,
    [now],
  )
}

function isSame(one: ModelPrice, other: ModelPrice | undefined): boolean {
  return (
    one.input_micros === other?.input_micros &&
    one.cached_micros === other.cached_micros &&
    one.output_micros === other.output_micros
  )
}
