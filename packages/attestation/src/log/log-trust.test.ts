import { beforeAll, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { newSigner } from '../testing/memory-log.ts'
import { type LogTrust, parseLogTrust } from './log-trust.ts'

let log: Awaited<ReturnType<typeof newSigner>>
let witness: Awaited<ReturnType<typeof newSigner>>
let trust: LogTrust

beforeAll(async () => {
  log = await newSigner('log.example')
  witness = await newSigner('w1', 'cosignature/v1')
  trust = { logKey: log.verifierKey, witnesses: [witness.verifierKey], quorum: 1 }
})

test('the keys of a log and its witnesses are parsed, with the quorum', async () => {
  const parsed = await parseLogTrust(trust)
  expect(parsed).toEqual({ logKey: log.key, rule: { witnesses: [witness.key], quorum: 1 } })
  const alone = await parseLogTrust({ ...trust, witnesses: [], quorum: 0 })
  expect(alone.rule).toEqual({ witnesses: [], quorum: 0 })
})

test.each<[string, () => Partial<LogTrust>, string]>([
  ['an invalid log key', () => ({ logKey: 'KEY' }), 'has an unknown form'],
  [
    'a log key that was mistyped',
    () => ({ logKey: log.verifierKey.replace('log', 'lag') }),
    'key of lag.example has id',
  ],
  [
    'the key of a witness for the log',
    () => ({ logKey: witness.verifierKey }),
    'log w1 is the key',
  ],
  ['an invalid witness key', () => ({ witnesses: ['KEY'] }), 'has an unknown form'],
  ['the key of a log for a witness', () => ({ witnesses: [log.verifierKey] }), 'key of a witness'],
  [
    'more than the number of witnesses',
    () => ({ quorum: 2 }),
    'quorum is 2, but there are 1 witnesses',
  ],
  ['a negative number', () => ({ quorum: -1 }), 'quorum is not a count'],
  ['something that is not a number', () => ({ quorum: Number.NaN }), 'quorum is not a count'],
  ['half a witness', () => ({ quorum: 0.5 }), 'quorum is not a count'],
])('%s is refused', async (_, changed, message) => {
  const refusal = { code: 'log_malformed', message: expect.stringContaining(message) }
  expect(await rejection(parseLogTrust({ ...trust, ...changed() }))).toMatchObject(refusal)
})
