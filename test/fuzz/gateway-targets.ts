/** Parsers of messages between a gateway and workers, operators and clients. */
import { parseModel } from '@privatemode/protocol/api'
import { parseLimits } from '../../apps/gateway/src/keys/limits.ts'
import { parseSignedUsage, parseUsageRecord } from '../../apps/gateway/src/metering/usage-record.ts'
import { parseRegistration } from '../../apps/gateway/src/registry/registration.ts'
import { readSealedHead } from '../../apps/gateway/src/relay/sealed-head.ts'
import { parseRequestHead, readHeadText } from '../../packages/http/src/request-head.ts'
import { parseTraceparent } from '../../packages/service/src/tracing/trace-context.ts'
import { Disagreement, type FuzzTarget, json, parseOr, text } from './target.ts'

const model = {
  ...{ id: 'm', object: 'model', created: 1, owned_by: 'x', type: 'model', display_name: 'M' },
  ...{ created_at: '2026-01-01T00:00:00Z', tasks: ['generate'], context_length: 8192 },
}
const registration = {
  ...{ url: 'http://10.0.0.7:8095', models: [model], seal_key_id: 'ab'.repeat(16) },
  receipt_key: Buffer.alloc(32, 1).toString('base64'),
  relay_key: Buffer.alloc(32, 2).toString('base64'),
  ...{ capacity: 4, active: 1 },
  draining: false,
}
const record = {
  ...{
    version: 2,
    admission: '0a'.repeat(32),
    request_id: '0f'.repeat(16),
    worker_id: 'w_one',
    key_ref: 'key_1',
    model: 'm',
  },
  ...{ path: '/v1/chat/completions', status: 200, outcome: 'complete', prompt_tokens: 5 },
  ...{ cached_tokens: 1, completion_tokens: 3, started_at: 1, duration_ms: 9 },
}
const signed = {
  record: Buffer.from(JSON.stringify(record)).toString('base64'),
  rest_digest: 'ab'.repeat(32),
  signature: Buffer.alloc(64).toString('base64'),
}
const limits = {
  ...{ requests_per_minute: 1, tokens_per_minute: null, tokens_per_month: 1e15 },
  concurrent_streams: 0,
}

export const gatewayTargets: readonly FuzzTarget[] = [
  {
    name: 'registration of a worker',
    seeds: [json(registration)],
    read(bytes) {
      const { url, capacity, models } = parseRegistration('w_one', parseOr(bytes, null))
      const { origin } = new URL(url)
      if (origin !== url) throw new Disagreement(`a worker at ${url}`)
      if (!(capacity >= 0)) throw new Disagreement(`a capacity of ${capacity}`)
      if (models.some(({ id }) => id === '')) throw new Disagreement('a model without a name')
    },
  },
  {
    name: 'usage record',
    seeds: [json(record)],
    read(bytes) {
      const read = parseUsageRecord(bytes)
      if (read === undefined) return
      const { promptTokens, cachedTokens, completionTokens } = read
      const counts = [promptTokens, cachedTokens, completionTokens]
      const isSane = counts.every((count) => Number.isSafeInteger(count) && count >= 0)
      if (!isSane || cachedTokens > promptTokens) throw new Disagreement(`counts of ${counts}`)
    },
  },
  {
    name: 'signed usage',
    seeds: [json(signed)],
    read(bytes) {
      const read = parseSignedUsage(parseOr(bytes, null))
      const { length } = Buffer.from(read?.signatureBase64 ?? '', 'base64')
      if (read !== undefined && length !== 64)
        throw new Disagreement(`a signature of ${length} bytes`)
    },
  },
  {
    name: 'limits of a key',
    seeds: [json(limits)],
    read(bytes) {
      for (const limit of Object.values(parseLimits(parseOr(bytes, null)))) {
        if (limit !== null && !(limit >= 0)) throw new Disagreement(`a limit of ${limit}`)
      }
    },
  },
  {
    name: 'model of a directory',
    seeds: [json(model)],
    read: (bytes) => parseModel(parseOr(bytes, null)),
  },
  {
    name: 'head of a sealed request',
    seeds: [
      text(
        'POST /privatemode/v1/sealed HTTP/1.1\r\nhost: h\r\ncontent-type: application/privatemode-sealed\r\n' +
          `privatemode-request-id: ${'0f'.repeat(16)}\r\nprivatemode-model: m\r\ncontent-length: 5\r\n` +
          'privatemode-path: /v1/chat/completions\r\nprivatemode-workers: w_1, w_2\r\n' +
          `traceparent: 00-${'1f'.repeat(16)}-${'2f'.repeat(8)}-01\r\n\r\n`,
      ),
    ],
    read(bytes) {
      const head = readHeadText(Buffer.from(bytes))
      if (head === undefined) return
      const parsed = parseRequestHead(head)
      parseTraceparent(parsed.fields.get('traceparent'))
      const { requestId, model: name, path, workerIds } = readSealedHead(parsed)
      // They are written into the head that goes to a worker: nothing in them may end a line.
      if (/[\r\n\0 ]/.test(requestId + name + path + workerIds.join(''))) {
        throw new Disagreement('a head that could hold another')
      }
    },
  },
]
