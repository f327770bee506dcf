/** The commands against a running gateway. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { thrown } from '../../../../test/rejection.ts'
import { findAdminRoute } from '../admin/admin-router.ts'
import { adminRoutes } from '../admin/admin-routes.ts'
import { openBrowser } from '../testing/browser.ts'
import { scriptedWorker } from '../testing/scripted-worker.ts'
import { adminToken, startTestGateway, type TestGateway } from '../testing/test-gateway.ts'
import { runCommand } from './command.ts'
import { type CommandValues, commands } from './commands.ts'

let gateway: TestGateway
const worker = scriptedWorker('w_one')
const used = new Set<string>()

beforeAll(async () => {
  gateway = await startTestGateway({ args: ['--leaseSeconds', '600'] })
  await gateway.register(worker)
})

afterAll(async () => {
  await gateway.stop()
  await worker.stop()
})

type Printed = { readonly [field: string]: unknown }

/** The output of a command, and its exit code. */
async function run(line: string, ...values: string[]): Promise<{ code: number; text: string }> {
  const args = [...line.split(' '), ...values]
  used.add(args.slice(0, 2).join(' '))
  let text = ''
  const place = ['--gateway', gateway.gateway.url, '--adminToken', adminToken]
  const code = await runCommand([...args, ...place], {}, (printed) => {
    text += printed
  })
  return { code, text }
}

async function done(line: string, ...values: string[]): Promise<Printed> {
  const { code, text } = await run(line, ...values)
  expect([line, code, text]).toEqual([line, 0, expect.anything()])
  return JSON.parse(text) as Printed
}

const range = '--from 2026-01-01 --to 2027-01-01'

test('keys are created, changed, limited, rotated, listed and revoked', async () => {
  const made = await done('keys create --requestsPerMinute 5', '--name', 'from a shell')
  expect(made).toMatchObject({ limits: { requests_per_minute: 5 }, expires_at: null })
  const id = String(made.id)
  const change = (...values: string[]) => done(`keys change --id ${id}`, ...values)
  expect(await change('--expiresAt', '2030-01-31T00:00:00Z')).toMatchObject({
    name: 'from a shell',
    expires_at: '2030-01-31T00:00:00.000Z',
  })
  expect(await change('--name', 'other', '--expiresAt', 'never')).toMatchObject({
    name: 'other',
    expires_at: null,
  })
  expect(await done(`keys limit --id ${id}`)).toMatchObject({
    limits: { requests_per_minute: null },
  })
  const rotated = await done(`keys rotate --id ${id} --overlapSeconds 60`)
  expect(rotated.secret).not.toBe(made.secret)
  expect(JSON.stringify(await done('keys list'))).toContain(String(rotated.prefix))
  expect((await done(`keys revoke --id ${id}`)).revoked_at).toBeString()
})

test('accounts are created, renamed, limited, disabled and enabled', async () => {
  const { id } = await done('accounts create --name first')
  expect(await done(`accounts rename --id ${id} --name second`)).toMatchObject({ name: 'second' })
  expect(await done(`accounts limit --id ${id} --tokensPerMonth 9`)).toMatchObject({
    limits: { tokens_per_month: 9 },
  })
  const bound = await done(`members limit --account ${id} --tokensPerMonth 5 --keyDays 30`)
  expect(bound).toMatchObject({ member_limits: { tokens_per_month: 5 }, member_key_days: 30 })
  expect(await done(`accounts domains --id ${id} --domains a.example,B.example`)).toMatchObject({
    email_domains: ['a.example', 'b.example'],
  })
  expect(await done(`accounts domains --id ${id} --domains none`)).toMatchObject({
    email_domains: [],
  })
  expect((await done(`accounts disable --id ${id}`)).disabled_at).toBeString()
  expect((await done(`accounts enable --id ${id}`)).disabled_at).toBeNull()
  expect(JSON.stringify(await done('accounts list'))).toContain('second')
})

test('members are invited, changed, given a new password, disabled and enabled', async () => {
  const { url } = await done('members invite --role admin --email first@example.org')
  await done('members invite')
  const token = String(url).split('#invitation=')[1]
  const accept = { token, password: 'correct horse battery staple' }
  await openBrowser(gateway.gateway.url).json('POST', 'invitations/accept', accept)
  const { members } = (await done('members list')) as unknown as { members: { id: string }[] }
  const [{ id } = { id: '' }] = members
  expect(members).toMatchObject([{ email: 'first@example.org', role: 'admin' }])
  expect(await done(`members change --id ${id} --name Renamed`)).toMatchObject({
    ...{ name: 'Renamed', role: 'admin' },
  })
  expect((await done(`members reset --id ${id}`)).url).toContain('#invitation=')
  const last = await run(`members change --id ${id} --role member`)
  expect(last.code).toBe(1)
  expect(last.text).toContain('keeps at least one admin')
  expect((await run(`members disable --id ${id}`)).code).toBe(1)
  expect(await done(`members enable --id ${id}`)).toMatchObject({ disabled_at: null })
})

test('invitations are listed and revoked, and the audit log is listed and exported', async () => {
  const { id } = await done('members invite --email second@example.org')
  expect(JSON.stringify(await done('invitations list'))).toContain('second@example.org')
  await done(`invitations revoke --id ${id}`)
  expect(JSON.stringify(await done('invitations list'))).not.toContain('second@example.org')
  const { events } = (await done('audit list')) as unknown as { events: Printed[] }
  expect(events[0]).toMatchObject({
    action: 'invitation.revoked',
    actor_id: 'operator',
    subject_id: id,
  })
  const exported = await run('audit export')
  expect(exported).toMatchObject({ code: 0, text: expect.stringContaining(',invitation.revoked,') })
  expect(await done('audit export --format json')).toMatchObject({ events: expect.anything() })
})

test('usage, workers and models are shown, and workers drained', async () => {
  expect(await done(`usage sum ${range} --by key,model --key key_none`)).toEqual({ rows: [] })
  const exported = await run(`usage export ${range} --account acct_default`)
  expect(exported).toMatchObject({ code: 0, text: expect.stringContaining('request_id,') })
  const asked = await run('workers drain --id w_one')
  expect(asked.code).toBe(1)
  expect(asked.text).toContain('"unserved_models": [\n    "test-model"')
  expect(asked.text).toContain('repeat this with --yes')
  const last = await run('workers drain --id w_one --yes')
  expect(last).toMatchObject({ code: 1, text: expect.stringContaining('no other machine serves') })
  expect(await done('workers drain --id w_one --yes --override')).toEqual({
    ...{ remaining: 0, unserved_models: ['test-model'] },
  })
  expect(await done('workers list')).toMatchObject({ workers: [{ id: 'w_one', draining: true }] })
  await done('workers undrain --id w_one')
  expect(await done('models list')).toMatchObject({ models: [{ id: 'test-model' }] })
})

test('prices and budgets are set, listed and taken away', async () => {
  const set = await done('prices set --currency EUR --prices org/a=1/0.1/3.5,b=0/0/0.000001')
  expect(set).toEqual(await done('prices list'))
  expect(set).toEqual({
    currency: 'EUR',
    models: [
      { model: 'b', input_micros: 0, cached_micros: 0, output_micros: 1 },
      { model: 'org/a', input_micros: 1e6, cached_micros: 1e5, output_micros: 3.5e6 },
    ],
  })
  await done('budgets set --id acct_default --amount 250.5')
  const { budgets } = await done('budgets list --account acct_default')
  expect(budgets).toMatchObject([{ budget_micros: 250_500_000, spent_micros: 0 }])
  expect(await done('budgets remove --id acct_default')).toMatchObject({ budget_micros: null })
  for (const prices of ['a', 'a=1/2', 'a=1/2/3/4', 'a=1/2/x', '=1/2/3']) {
    expect(await thrown(run(`prices set --currency EUR --prices ${prices}`))).toThrow('is no')
  }
})

test('missing, unknown and empty arguments are reported before anything is sent', async () => {
  expect(await thrown(run('keys create'))).toThrow('--name is missing')
  expect(await thrown(run('keys change --id key_x'))).toThrow('nothing to change')
  expect(await thrown(run('keys burn'))).toThrow('there is no command "keys burn"')
  const refused = await run('keys revoke --id key_none')
  expect(refused).toMatchObject({ code: 1, text: expect.stringContaining('not_found') })
})

test('every admin API operation has a command, which was tested here', () => {
  used.delete('keys burn')
  expect([...used].toSorted()).toEqual(Object.keys(commands).toSorted())
  const values = {
    ...{ id: 'x', name: 'x', domains: 'x', from: '2026-01-01', to: '2026-01-02' },
    ...{ currency: 'EUR', prices: 'x=1/1/1', amount: '1' },
  }
  const covered = Object.values(commands).map(({ call }) => {
    const { method, path } = call(values as unknown as CommandValues)
    return findAdminRoute(method, `/${path}`).route
  })
  // A single key is in the list, single requests are in the export, draining asks first; sessions are for people.
  const others = /^GET \/(keys\/\{id\}|usage\/requests|workers\/\{id\}\/drain)$|\/session/
  const without = adminRoutes
    .filter((route) => route.access === 'signed_in' && !covered.includes(route))
    .map(({ method, path }) => `${method} ${path}`)
    .filter((line) => !others.test(line))
  expect(without).toEqual([])
})
