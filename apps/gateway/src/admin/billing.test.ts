/** What requests cost, and who sets prices and budgets. */
import { afterAll, expect, test } from 'bun:test'
import { startAdminWorld } from '../testing/admin-world.ts'
import { scriptedWorker } from '../testing/scripted-worker.ts'
import { admittedRecord, receiptKeyPair, signUsage } from '../testing/signed-usage.ts'

const world = await startAdminWorld()
const { gateway, admin, member, outsider, otherAccount, operate } = world
const receiptKey = receiptKeyPair()
const worker = scriptedWorker('w_billed', receiptKey.publicKey)
await gateway.register(worker)
afterAll(async () => {
  await gateway.stop()
  await worker.stop()
})

const euros = 1_000_000
const price = { model: 'test-model', input_micros: euros, cached_micros: 100_000 }
const list = { currency: 'EUR', models: [{ ...price, output_micros: 3 * euros }] }

/** A request is relayed, and its worker reports it. */
const use = async (key: Key, changes: Record<string, unknown> = {}) => {
  const tokens = { prompt_tokens: 1_000_000, cached_tokens: 400_000, completion_tokens: 2_000_000 }
  const record = await admittedRecord(gateway, worker, key, { ...tokens, ...changes })
  await report(record)
  return record
}
const report = async (record: Record<string, unknown>) => {
  const records = [signUsage(receiptKey, record)]
  const answer = await gateway.operate('POST', 'registry/usage', { records })
  expect(await answer.json()).toMatchObject({ accepted: 1 })
}

const sums = async (by = '') => {
  const hour = 3_600_000
  const [from, to] = [-2 * hour, 2 * hour].map((ms) => new Date(Date.now() + ms).toISOString())
  const query = new URLSearchParams({ from: from ?? '', to: to ?? '', step: 'all', by })
  const { rows } = await admin.json('GET', `usage?${query}`)
  return rows as { cost_micros: number; member_id?: string; model?: string }[]
}
type Key = { readonly id: string; readonly secret: string }
const newKey = async (browser = admin) =>
  (await browser.json('POST', 'keys', { name: 'billed' }, 201)) as Key

test('requests cost nothing before prices, and what the prices say from then on', async () => {
  const key = await newKey()
  expect(await admin.json('GET', 'prices')).toEqual({ currency: null, models: [] })
  await use(key)
  await admin.json('PUT', 'prices', list)
  expect(await member.json('GET', 'prices')).toEqual(list)
  // 0.6 million at 1, 0.4 million at 0.1, 2 million at 3.
  const cost = 600_000 + 40_000 + 6_000_000
  await use(key)
  expect((await sums())[0]?.cost_micros).toBe(cost)
  // A later price is for later requests.
  await admin.json('PUT', 'prices', {
    ...list,
    models: [{ ...price, output_micros: 0 }],
  })
  const late = await use(key)
  expect((await sums())[0]?.cost_micros).toBe(cost + 640_000)
  await admin.json('PUT', 'prices', { ...list, models: [] })
  await use(key)
  expect((await sums())[0]?.cost_micros).toBe(cost + 640_000)
  // A better report about a request replaces its cost in every sum.
  await report({ ...late, completion_tokens: 9_000_000, prompt_tokens: 2_000_000 })
  expect((await sums())[0]?.cost_micros).toBe(cost + 1_640_000)
  const { budgets } = await admin.json('GET', 'budgets')
  expect(budgets).toMatchObject([{ kind: 'account', spent_micros: cost + 1_640_000 }])
})

test('the export has the cost of each request, and its sum is the bill', async () => {
  const from = new Date(Date.now() - 7_200_000).toISOString()
  const to = new Date(Date.now() + 7_200_000).toISOString()
  const response = await admin.request('GET', `usage/export.csv?from=${from}&to=${to}`)
  const [head = '', ...lines] = (await response.text()).trimEnd().split('\r\n')
  const column = head.split(',').indexOf('cost_micros')
  const total = lines.reduce((sum, line) => sum + Number(line.split(',')[column]), 0)
  expect(total).toBe((await sums())[0]?.cost_micros ?? 0)
  expect(total).toBeGreaterThan(0)
})

test('usage is summed by the member who made the key', async () => {
  const { members } = await admin.json('GET', 'members?account=acct_default')
  const found = (members as { id: string; email: string }[]).find(({ email }) =>
    email.startsWith('member@'),
  )
  await use(await newKey(member))
  const rows = await sums('member,model')
  expect(rows.filter((row) => row.member_id === found?.id)).toMatchObject([
    { requests: 1, model: 'test-model' },
  ])
})

test('budgets are for an account or a key; members see them and set none', async () => {
  const key = await newKey()
  const wish = { budget_micros: 10 * euros }
  await admin.json('PUT', 'budgets/acct_default', wish)
  await admin.json('PUT', `budgets/${key.id}`, { budget_micros: 5 * euros })
  await admin.json('PUT', 'prices', list)
  await use(key)
  const { budgets } = await member.json('GET', 'budgets')
  expect(budgets).toMatchObject([
    { subject_id: 'acct_default', kind: 'account', budget_micros: 10 * euros },
    { subject_id: key.id, kind: 'key', budget_micros: 5 * euros, spent_micros: 6_640_000 },
  ])
  expect((await member.request('PUT', 'budgets/acct_default', wish)).status).toBe(403)
  expect((await member.request('DELETE', `budgets/${key.id}`)).status).toBe(403)
  expect((await outsider.request('PUT', `budgets/${key.id}`, wish)).status).toBe(404)
  expect((await outsider.request('GET', 'budgets?account=acct_default')).status).toBe(404)
  expect((await outsider.request('PUT', 'budgets/nobody', wish)).status).toBe(404)
  await outsider.json('PUT', `budgets/${otherAccount}`, wish)
  await admin.json('DELETE', `budgets/${key.id}`)
  const left = (await admin.json('GET', 'budgets')).budgets as unknown[]
  expect(left).toHaveLength(1)
})

test('only operators set prices; nonsense and a second currency are refused', async () => {
  expect((await member.request('PUT', 'prices', list)).status).toBe(403)
  expect((await outsider.request('PUT', 'prices', list)).status).toBe(403)
  const refused = [
    { ...list, currency: 'euro' },
    { ...list, models: [list.models[0], list.models[0]] },
    { ...list, models: [{ ...list.models[0], input_micros: -1 }] },
    { ...list, models: [{ ...list.models[0], input_micros: 0.5 }] },
    { ...list, models: [{ ...list.models[0], model: 'a b' }] },
    { ...list, models: [{ ...list.models[0], tokens: 1 }] },
  ]
  for (const body of refused) {
    expect((await admin.request('PUT', 'prices', body)).status).toBe(400)
  }
  expect((await admin.request('PUT', 'prices', { ...list, currency: 'USD' })).status).toBe(409)
})

test('the audit log says who changed prices and budgets', async () => {
  const { events } = await operate('GET', 'admin/audit?limit=100')
  const actions = (events as { action: string }[]).map(({ action }) => action)
  expect(actions).toContain('prices.changed')
  expect(actions).toContain('budget.changed')
})
