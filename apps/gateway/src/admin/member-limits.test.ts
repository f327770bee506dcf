/** Limits that admins set on members' keys are binding: a fresh key does not evade them. */
import { afterAll, expect, test } from 'bun:test'
import { startAdminWorld } from '../testing/admin-world.ts'
import { scriptedWorker } from '../testing/scripted-worker.ts'

const world = await startAdminWorld()
const { gateway, admin, member, outsider, otherAccount } = world
const worker = scriptedWorker('w_limits')
await gateway.register(worker)
afterAll(async () => {
  await gateway.stop()
  await worker.stop()
})

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
const policy = (body: object) => admin.json('PATCH', 'accounts/acct_default', body)

test('a member can shorten the expiry set by an admin, never extend it', async () => {
  const key = await member.json('POST', 'keys', { name: 'capped' }, 201)
  const change = (expires_at: string | null) =>
    member.request('PATCH', `keys/${key.id}`, { expires_at })
  expect((await change(inDays(90))).status).toBe(200) // its own expiry is its own business
  const end = inDays(10)
  await admin.json('PATCH', `keys/${key.id}`, { expires_at: end })
  for (const later of [null, inDays(11), inDays(9999)]) {
    expect((await change(later)).status).toBe(403)
  }
  expect((await change(inDays(5))).status).toBe(200)
  expect((await change(inDays(9))).status).toBe(200)
  expect((await change(inDays(11))).status).toBe(403) // an earlier end in between frees nothing
  expect(await admin.json('GET', `keys/${key.id}`)).toMatchObject({ latest_expiry: end })
  await admin.json('PATCH', `keys/${key.id}`, { expires_at: null })
  expect((await change(inDays(99))).status).toBe(200)
})

test("fresh keys last no longer than the account lets its members' keys last", async () => {
  await policy({ member_key_days: 30 })
  const made = await member.json('POST', 'keys', { name: 'fresh' }, 201)
  expect(Date.parse(String(made.expires_at))).toBeLessThan(Date.parse(inDays(31)))
  const wish = { name: 'eternal', expires_at: null }
  expect((await member.request('POST', 'keys', wish)).status).toBe(403)
  const longer = { expires_at: inDays(31) }
  expect((await member.request('POST', 'keys', { name: 'x', ...longer })).status).toBe(403)
  expect((await member.request('PATCH', `keys/${made.id}`, longer)).status).toBe(403)
  const own = await admin.json('POST', 'keys', { name: 'of an admin' }, 201)
  expect(own.expires_at).toBeNull()
  await policy({ member_key_days: null })
})

test('a limit for members covers all keys of one member together, including new ones', async () => {
  await policy({ member_limits: { requests_per_minute: 3 } })
  const statuses: number[] = []
  for (let count = 0; count < 5; count++) {
    const { secret } = await member.json('POST', 'keys', { name: `fresh ${count}` }, 201)
    statuses.push((await gateway.seal(String(secret), [worker.id])).status)
  }
  expect(statuses).toEqual([200, 200, 200, 429, 429])
  const { secret } = await admin.json('POST', 'keys', { name: 'unbound' }, 201)
  expect((await gateway.seal(String(secret), [worker.id])).status).toBe(200)
  await policy({ member_limits: null })
  const free = await member.json('POST', 'keys', { name: 'free' }, 201)
  expect((await gateway.seal(String(free.secret), [worker.id])).status).toBe(200)
})

test('a member has at most a hundred active keys; a new one requires revoking another', async () => {
  const make = () => member.request('POST', 'keys', { name: 'one of many' })
  let made = await make()
  let last = ''
  let count = 0
  for (; made.status === 201 && count < 200; count++) {
    last = String(((await made.json()) as { id: string }).id)
    made = await make()
  }
  expect(made.status).toBe(409)
  expect(count).toBeGreaterThan(80) // keys of earlier tests count as well
  expect(count).toBeLessThanOrEqual(100)
  // An expired key makes no room: it could be extended again.
  await member.json('PATCH', `keys/${last}`, { expires_at: new Date().toISOString() })
  expect((await make()).status).toBe(409)
  expect((await member.request('DELETE', `keys/${last}`)).status).toBe(200)
  expect((await make()).status).toBe(201)
})

test('members do not set these limits, nor do admins of other accounts', async () => {
  const wish = { member_limits: null, member_key_days: null }
  expect((await member.request('PATCH', 'accounts/acct_default', wish)).status).toBe(403)
  expect((await outsider.request('PATCH', 'accounts/acct_default', wish)).status).toBe(404)
  const own = await outsider.json('PATCH', `accounts/${otherAccount}`, { member_key_days: 7 })
  expect(own).toMatchObject({ member_key_days: 7 })
  // What the account itself may use is set by the operator.
  const limits = { limits: null }
  expect((await outsider.request('PATCH', `accounts/${otherAccount}`, limits)).status).toBe(403)
})
