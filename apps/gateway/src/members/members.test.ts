/** Sessions, links, passwords and lock-outs after time has passed or under attack. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { scryptSync } from 'node:crypto'
import type { Database } from '../state/database.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { newId } from '../testing/test-gateway.ts'
import { acceptInvitation, invite } from './invitations.ts'
import { isKnownBrowser, rememberBrowser } from './known-browsers.ts'
import { createMember, findMember, type Member, setPassword } from './member-store.ts'
import { checkPassword, enterHashing } from './password.ts'
import { beginSession, checkCsrfToken, csrfTokenOf, findSession } from './session-store.ts'
import { confirmPassword, signIn } from './sign-in.ts'
import { newToken } from './token.ts'

const password = 'correct horse battery staple'
const accountId = 'acct_default'
let database: Database
let member: Member

beforeAll(async () => {
  database = await openTestDatabase()
})

afterAll(() => database.close())

beforeEach(async () => {
  const email = `${newId()}@example.org`
  const wish = { accountId, email, name: 'Someone', role: 'member', passwordHash: null } as const
  member = await createMember(database, wish)
})

/** Awaits first: `rejects` on a promise that waits for a hash spins the event loop, taking seconds each. */
async function refused(promise: Promise<unknown>, code: string, message: string): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toMatchObject({ code, message: expect.stringContaining(message) })
}

test.each([
  ['seen_at', 13, 'hours'],
  ['created_at', 8, 'days'],
])('a session whose %s is %i %s ago has ended', async (column, count, unit) => {
  const { token } = await beginSession(database, member)
  expect(await findSession(database, token)).toMatchObject({ member: { id: member.id } })
  await database.query(`update sessions set ${column} = now() - interval '${count} ${unit}'
    where member_id = '${member.id}'`)
  expect(await findSession(database, token)).toBeUndefined()
})

test('a session in use stays valid', async () => {
  const { token } = await beginSession(database, member)
  const age = `update sessions set seen_at = now() - interval '11 hours'
    where member_id = '${member.id}'`
  for (let uses = 0; uses < 3; uses++) {
    await database.query(age)
    expect(await findSession(database, token)).toBeDefined()
  }
  const [row] = await database.query<{ fresh: boolean }>(
    `select seen_at > now() - interval '1 minute' as fresh from sessions where member_id = $1`,
    [member.id],
  )
  expect(row?.fresh).toBe(true)
})

test('a member has a bounded number of sessions: the one unused for longest ends', async () => {
  const first = await beginSession(database, member)
  await database.query(`update sessions set seen_at = now() - interval '1 minute'
    where member_id = '${member.id}'`)
  await database.query(
    `insert into sessions (token_hash, member_id)
     select sha256(convert_to($1 || n, 'UTF8')), $1 from generate_series(1, 99) n`,
    [member.id],
  )
  const last = await beginSession(database, member)
  expect(await findSession(database, first.token)).toBeUndefined()
  expect(await findSession(database, last.token)).toBeDefined()
})

test('the session of a disabled member or account is invalid', async () => {
  const { token } = await beginSession(database, member)
  const disable = (table: string, id: string, at: string) =>
    database.query(`update ${table} set disabled_at = ${at} where id = $1`, [id])
  for (const [table, id] of [
    ['members', member.id],
    ['accounts', accountId],
  ] as const) {
    await disable(table, id, 'now()')
    expect(await findSession(database, token)).toBeUndefined()
    await disable(table, id, 'null')
    expect(await findSession(database, token)).toBeDefined()
  }
})

test("a page's token is good for its own session only", () => {
  expect(() => checkCsrfToken('one', csrfTokenOf('one'))).not.toThrow()
  for (const given of [csrfTokenOf('two'), csrfTokenOf('one').slice(1), '', null]) {
    expect(() => checkCsrfToken('one', given)).toThrow('missing or wrong')
  }
})

const wish = { accountId, role: 'member', email: null, memberId: null, createdBy: null } as const
const unrecorded = { accepted: async () => undefined, refused: async () => undefined }
const accept = async (token: string, email: string | undefined) =>
  (await acceptInvitation(database, { token, email, name: undefined, password }, unrecorded)).member

test('an expired link is refused', async () => {
  const { token } = await invite(database, wish)
  await database.query(`update invitations set expires_at = now() - interval '1 second'`)
  await refused(accept(token, 'late@example.org'), 'permission_denied', 'has expired')
})

test('a link needs an address that is not in use', async () => {
  const { token } = await invite(database, wish)
  await refused(accept(token, undefined), 'missing_parameter', 'email is missing')
  const taken = accept(token, member.email.toUpperCase())
  await refused(taken, 'invalid_value', 'a member with this address already')
  // A refusal does not use it up.
  expect(await accept(token, `${newId()}@example.org`)).toMatchObject({ role: 'member' })
})

test('a link for an address makes that member, whatever is asked for', async () => {
  const email = `${newId()}@example.org`
  const { token } = await invite(database, { ...wish, email })
  expect(await accept(token, 'other@example.org')).toMatchObject({ email })
})

test('an unknown member is not found', async () => {
  await refused(findMember(database, 'mem_none'), 'not_found', 'no such member')
})

test('passwords have a minimum and maximum length', () => {
  for (const wrong of ['eleven char', 'x'.repeat(257)]) {
    expect(() => checkPassword(wrong)).toThrow('12 to 256 characters')
  }
})

test('concurrent attempts cannot bypass the lock-out', async () => {
  await setPassword(database, member.id, cheapHash)
  // Each from its own address; the last one would be right.
  const guesses = Array.from({ length: 15 }, (_, index) =>
    signIn(database, {
      ...{ email: member.email, password: index < 14 ? 'a wrong guess' : password },
      ...{ address: `198.51.100.${index}`, browserToken: undefined },
    }).then(
      () => 'signed in',
      (error: { code: string }) => error.code,
    ),
  )
  const ended = await Promise.all(guesses)
  expect(ended.filter((code) => code === 'permission_denied').length).toBe(5)
  expect(ended.filter((code) => code === 'rate_limit_exceeded').length).toBe(10)
})

test("a known browser and a session are not locked out by others' guesses", async () => {
  await setPassword(database, member.id, cheapHash)
  const { browserToken } = await beginSession(database, member)
  await database.query(
    `insert into sign_in_failures (subject, failures, last_at, locked_until)
     select subject, 60, now(), now() + interval '1 hour'
     from unnest(array['address 192.0.2.7', $1]) as subject`,
    [`person ${member.email}`],
  )
  const attempt = { email: member.email, password, address: '192.0.2.7' }
  const stranger = signIn(database, { ...attempt, browserToken: undefined })
  await refused(stranger, 'rate_limit_exceeded', 'too many failed attempts')
  const forged = signIn(database, { ...attempt, browserToken: 'A'.repeat(43) })
  await refused(forged, 'rate_limit_exceeded', 'too many failed attempts')
  expect(await signIn(database, { ...attempt, browserToken })).toMatchObject({
    member: { id: member.id },
  })
  await confirmPassword(database, member, attempt)
  // It has its own count, and belongs to one member.
  const guess = { ...attempt, browserToken, password: 'a wrong guess' }
  for (let tries = 0; tries < 5; tries++) {
    await refused(signIn(database, guess), 'permission_denied', 'address or password is wrong')
  }
  // On a busy machine the lock is over before the next attempt: extend it, if there is one.
  await database.query(
    `update sign_in_failures set locked_until = now() + interval '1 hour'
     where subject like 'browser %' and locked_until is not null`,
  )
  await refused(signIn(database, { ...attempt, browserToken }), 'rate_limit_exceeded', 'too many')
  await setPassword(database, member.id, cheapHash)
  expect(await isKnownBrowser(database, browserToken, member.id)).toBe(false)
})

test('a member is known in a bounded number of browsers', async () => {
  const tokens: string[] = []
  for (let count = 0; count < 11; count++) tokens.push(await rememberBrowser(database, member.id))
  const known = await Promise.all(tokens.map((token) => isKnownBrowser(database, token, member.id)))
  expect(known.filter(Boolean).length).toBe(10)
})

test('a correct password resets the count, for the address too', async () => {
  await setPassword(database, member.id, cheapHash)
  const attempt = { email: member.email, password, address: '192.0.2.8', browserToken: undefined }
  for (let count = 0; count < 3; count++) await signIn(database, attempt)
  const rows = await database.query(
    `select 1 from sign_in_failures where subject in ('address 192.0.2.8', $1)`,
    [`person ${member.email}`],
  )
  expect(rows).toEqual([])
})

/** A member with the same address in another account, whose admin knows the password. */
async function createNamesake(ownPassword: string): Promise<Member> {
  const otherId = `acct_${newId()}`
  await database.query(`insert into accounts (id, name) values ($1, 'Other')`, [otherId])
  const { email } = member
  return createMember(database, {
    ...{ accountId: otherId, email, name: 'Namesake', role: 'admin' },
    passwordHash: cheapHashOf(ownPassword),
  })
}

test('signing in as a namesake in another account does not clear the count', async () => {
  await setPassword(database, member.id, cheapHash)
  const namesake = await createNamesake('password of the namesake')
  let guessing = 0
  const signInWith = (wish: string) =>
    signIn(database, {
      ...{ email: member.email, password: wish, browserToken: undefined },
      address: `198.51.100.${guessing++}`,
    })
  for (let tries = 0; tries < 4; tries++) {
    await refused(signInWith('a wrong guess'), 'permission_denied', 'address or password is wrong')
  }
  expect(await signInWith('password of the namesake')).toMatchObject({ member: namesake })
  await refused(signInWith('a wrong guess'), 'permission_denied', 'address or password is wrong')
  await refused(signInWith(password), 'rate_limit_exceeded', 'too many failed attempts')
})

test('a failed sign-in with namesakes is recorded in each account, without the source', async () => {
  const namesake = await createNamesake('password of the namesake')
  const attempt = { email: member.email, address: '203.0.113.9', browserToken: undefined }
  for (let tries = 0; tries < 2; tries++) {
    const guess = signIn(database, { ...attempt, password: 'a wrong guess' })
    await refused(guess, 'permission_denied', 'address or password is wrong')
  }
  const found = await database.query(
    `select account_id, subject_id, address, times from audit_events
     where subject_name = $1 order by id`,
    [member.email],
  )
  expect(found).toEqual([
    { account_id: null, subject_id: null, address: '203.0.113.9', times: 2 },
    { account_id: accountId, subject_id: member.id, address: '', times: 2 },
    { account_id: namesake.accountId, subject_id: namesake.id, address: '', times: 2 },
  ])
})

/** Occupies the hash queue until `release`. */
function holdHashing() {
  const release: (() => void)[] = []
  const held = ['one', 'two'].map((name) => {
    const turn = enterHashing({ name, isKnown: true })
    return turn.run(() => new Promise<void>((resolve) => release.push(resolve))).finally(turn.end)
  })
  return async () => {
    for (const each of release) each()
    await Promise.all(held)
  }
}

test('all browsers of a member share their slots for hashing', async () => {
  await setPassword(database, member.id, cheapHash)
  const tokens = [
    await rememberBrowser(database, member.id),
    await rememberBrowser(database, member.id),
  ]
  const release = holdHashing()
  const tried = Array.from({ length: 6 }, (_, index) =>
    signIn(database, {
      ...{ email: member.email, password, address: '192.0.2.9' },
      browserToken: tokens[index % 2],
    }).then(
      () => 'signed in',
      (error: { message: string }) => error.message,
    ),
  )
  const refusals = await Promise.race([Promise.all(tried.slice(4)), Promise.any(tried.slice(0, 4))])
  await release()
  expect(refusals).toEqual(Array(2).fill(expect.stringContaining('concurrent sign-ins from here')))
  expect(await Promise.all(tried.slice(0, 4))).toEqual(Array(4).fill('signed in'))
})

test('a sign-in that was waiting while the password changed starts no session', async () => {
  await setPassword(database, member.id, cheapHash)
  const begun = await signIn(database, {
    ...{ email: member.email, password, address: '192.0.2.10', browserToken: undefined },
  })
  await beginSession(database, member, begun)
  await setPassword(database, member.id, cheapHashOf('another long password'))
  await refused(beginSession(database, member, begun), 'permission_denied', 'password is wrong')
  const overwrite = setPassword(database, member.id, cheapHash, begun.passwordHash)
  await refused(overwrite, 'permission_denied', 'password is wrong')
  const rows = await database.query('select 1 from sessions where member_id = $1', [member.id])
  expect(rows).toEqual([])
})

test('a member who was disabled during the sign-in gets no session', async () => {
  await database.query('update members set disabled_at = now() where id = $1', [member.id])
  await refused(beginSession(database, member), 'permission_denied', 'password is wrong')
})

test('without a link, the gateway hashes no password', async () => {
  const release = holdHashing()
  // All hashing slots are taken: a call that needs one would not return.
  const unknown = Array.from({ length: 24 }, () =>
    accept(newToken(), 'x@example.org').catch((error: { code: string }) => error.code),
  )
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('a password is being hashed')), 60_000)
  })
  try {
    const codes = await Promise.race([Promise.all(unknown), late])
    expect(new Set(codes as string[])).toEqual(new Set(['permission_denied']))
  } finally {
    clearTimeout(timer)
    await release()
  }
})

test('guessing from one address locks out all accounts from there, but nowhere else', async () => {
  const guess = (address: string) =>
    signIn(database, {
      ...{ email: `${newId()}@example.org`, password: 'a wrong guess', address },
      browserToken: undefined,
    })
  // Each guess costs a second of work: 49 of them are inserted instead.
  await database.query(
    `insert into sign_in_failures (subject, failures, last_at) values ('address 192.0.2.1', 49, now())`,
  )
  await refused(guess('192.0.2.1'), 'permission_denied', 'address or password is wrong')
  await refused(guess('192.0.2.1'), 'rate_limit_exceeded', 'too many failed attempts')
  await refused(guess('::ffff:192.0.2.1'), 'rate_limit_exceeded', 'too many failed attempts')
  await refused(guess('192.0.2.2'), 'permission_denied', 'address or password is wrong')
})

test.each(['accounts', 'members'])(
  'a disabled entry in %s cannot sign in by any means',
  async (table) => {
    const { id, email } = member
    await setPassword(database, id, cheapHash)
    const signsIn = () =>
      signIn(database, { email, password, address: '192.0.2.3', browserToken: undefined })
    expect(await signsIn()).toMatchObject({ member: { id } })
    const { token } = await invite(database, { ...wish, memberId: id, email })
    const subject = table === 'accounts' ? accountId : id
    await database.query(`update ${table} set disabled_at = now() where id = $1`, [subject])
    await refused(signsIn(), 'permission_denied', 'address or password is wrong')
    await refused(accept(token, undefined), 'permission_denied', 'was revoked or has expired')
    await database.query(`update ${table} set disabled_at = null where id = $1`, [subject])
  },
)

test('a new password ends every link that would set another', async () => {
  const { token } = await invite(database, { ...wish, memberId: member.id })
  await setPassword(database, member.id, cheapHash)
  await refused(accept(token, undefined), 'permission_denied', 'was revoked or has expired')
})

/** Real ones take a second each. */
function cheapHashOf(text: string): string {
  const salt = Buffer.alloc(16)
  const hash = scryptSync(text, salt, 32, { N: 16, r: 8, p: 1 })
  return ['scrypt', 4, 8, 1, salt.toString('base64'), hash.toString('base64')].join('$')
}
const cheapHash = cheapHashOf(password)

test('a link created while its creator loses the rights is void', async () => {
  const admin = await createMember(database, {
    ...{
      accountId,
      email: `${newId()}@example.org`,
      name: 'Admin',
      role: 'admin',
      passwordHash: null,
    },
  })
  const link = { ...wish, createdBy: admin.id }
  const { token } = await invite(database, link)
  await database.query(`update members set role = 'member' where id = $1`, [admin.id])
  const late = await invite(database, link)
  for (const each of [token, late.token]) {
    await refused(accept(each, `${newId()}@example.org`), 'permission_denied', 'was revoked')
  }
  await database.query(`update members set role = 'admin' where id = $1`, [admin.id])
  expect(await accept(late.token, `${newId()}@example.org`)).toMatchObject({ role: 'member' })
})

test('an account has a bounded number of open links, and old ones are forgotten', async () => {
  const admin = await createMember(database, {
    ...{
      accountId,
      email: `${newId()}@example.org`,
      name: 'Admin',
      role: 'admin',
      passwordHash: null,
    },
  })
  const link = { ...wish, createdBy: admin.id }
  await database.query(
    `insert into invitations (token_hash, id, account_id, role, created_by, expires_at)
     select decode(lpad(to_hex(n), 64, '0'), 'hex'), 'inv_' || n, $1, 'member', $2,
       now() + interval '1 hour' from generate_series(1, 100) as n`,
    [accountId, admin.id],
  )
  await refused(invite(database, link), 'invalid_value', '100 open invitations')
  await invite(database, wish) // the operator token is not bound
  await database.query(`update invitations set expires_at = now() - interval '31 days'`)
  await invite(database, link)
  const [row] = await database.query<{ count: number }>('select count(*) as count from invitations')
  expect(row?.count).toBe(1)
})
