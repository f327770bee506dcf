import { expect, test } from 'bun:test'
import { ApiError } from '@privatemode/protocol/api'
import { encodeText } from '@privatemode/protocol/envelope'
import {
  type Call,
  isSealedAnswer,
  type SealedCall,
  SealedExchange,
  type Sealer,
} from './sealed-exchange.ts'

const call: Call = {
  ...{ path: '/v1/chat/completions', model: 'm', apiKey: 'key', stream: false },
  body: encodeText('a prompt'),
}
const lost = new ApiError('worker_unreachable', 'gone')
const unreachable = new ApiError('gateway_unreachable', 'not there')

/** Seals nothing, and records what it is notified of. */
function exchangeOf(retry = { budgetMs: 60_000, waitsForBackend: true }) {
  const told: [SealedCall, string][] = []
  let sealings = 0
  const sealer: Sealer = {
    prepare: () => ({ requestId: `r${++sealings}` }) as SealedCall,
    noteRefusal: (sealed, { code }) => void told.push([sealed, code]),
  }
  return { exchange: new SealedExchange(sealer, call, retry), told }
}

test('the first retry is immediate, the others follow after a pause; four attempts, each resealed', () => {
  const { exchange } = exchangeOf()
  const seen = [1, 2, 3, 4].map(() => {
    const { requestId } = exchange.prepare() as SealedCall
    return [requestId, exchange.pauseAfter(lost)]
  })
  expect(seen).toEqual([
    ['r1', 0],
    ['r2', 100],
    ['r3', 200],
    ['r4', undefined],
  ])
})

test('if the driver wants it, an unreachable backend is waited for, longer each time', () => {
  const { exchange } = exchangeOf()
  const pauses = [1, 2, 3, 4].map(() => {
    exchange.prepare()
    return exchange.pauseAfter(unreachable)
  })
  expect(pauses).toEqual([100, 200, 400, undefined])
  const { exchange: other } = exchangeOf({ budgetMs: 60_000, waitsForBackend: false })
  other.prepare()
  expect(other.pauseAfter(unreachable)).toBeUndefined()
})

test('nothing is retried once the budget is spent, or for other errors', () => {
  const { exchange } = exchangeOf({ budgetMs: 0, waitsForBackend: true })
  exchange.prepare()
  expect(exchange.pauseAfter(lost)).toBeUndefined()
  const { exchange: other } = exchangeOf()
  other.prepare()
  expect(other.pauseAfter(new ApiError('invalid_api_key', 'no'))).toBeUndefined()
  expect(other.pauseAfter(new TypeError('other'))).toBeUndefined()
})

test('clear text is an error whatever its status, and the sealer is notified of the refused call', () => {
  const { exchange, told } = exchangeOf()
  const sealed = exchange.prepare() as SealedCall
  expect(exchange.refused(200, '{"choices":[]}', null)).toBeInstanceOf(ApiError)
  expect(told.map(([call]) => call)).toEqual([sealed])
  expect(isSealedAnswer(200, 'application/json')).toBe(false)
})
