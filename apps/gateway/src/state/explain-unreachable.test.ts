import { expect, test } from 'bun:test'
import { explainUnreachable } from './explain-unreachable.ts'

const cause = new Error('timeout expired')
const url = 'postgres://user:secret@db.internal:5432/gateway'

test('an unresolvable name is reported as such, whatever the driver says', async () => {
  const unknown = () => Promise.reject(new Error('ENOTFOUND'))
  const { message } = await explainUnreachable(url, cause, unknown)
  expect(message).toContain('the name db.internal cannot be resolved')
  expect(message).not.toContain('secret')
})

test('an unresponsive name server counts as an unresolvable name', async () => {
  const silent = () => new Promise<never>(() => {})
  const { message } = await explainUnreachable(url, cause, silent, 10)
  expect(message).toContain('the name db.internal cannot be resolved')
})

test.each([
  [url],
  ['postgres://user:secret@10.0.0.7:5432/gateway'],
  ['postgres://user:secret@[fd00::7]:5432/gateway'],
  ['not a url'],
])("if the name resolves, the driver's message is used: %s", async (given) => {
  const known = () => Promise.resolve({ address: '10.0.0.7', family: 4 })
  const { message, code } = await explainUnreachable(given, cause, known)
  expect(message).toBe('cannot use the database of DATABASE_URL: timeout expired')
  expect(code).toBe('database_unreachable')
})
