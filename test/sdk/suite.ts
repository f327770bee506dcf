/** What every runtime must be able to do; the same cases run in Node, Bun, Deno, workerd and browsers. */
import { type ConnectOptions, memoryStorage, Privatemode, PrivatemodeError } from '@privatemode/sdk'
import { acceptSoftware } from '@privatemode/sdk/software'
import { type Case, equal, expect, fails, type SuiteConfig } from './case.ts'
import { cutLastByte, flipLastByte, inTheOpen } from './hostile-fetch.ts'

export const ask = (content: string) => [{ role: 'user' as const, content }]

export function connect(config: SuiteConfig, over: Partial<ConnectOptions> = {}) {
  const { endpoint, apiKey, logKey, softwareRoot } = config
  const software = acceptSoftware(softwareRoot)
  // Receipts come behind the padding: only the case about shapes waits for it.
  const given = { endpoint, apiKey, manifest: { logKey }, software, shape: 'off' as const }
  return Privatemode.connect({ ...given, ...over })
}

export const cases: readonly Case[] = [
  {
    name: 'verifies a worker and lists what it serves',
    async run(config) {
      const events: string[] = []
      const pm = await connect(config, { onEvent: ({ kind }) => void events.push(kind) })
      equal(events.join(), 'manifest-changed,verified')
      const [worker] = pm.verification.transcript().workers
      expect(worker?.hardware === false, 'the worker attests in software')
      expect(worker?.checks.every(({ result }) => result !== 'failed') === true, 'checks')
      const models = await pm.models.list()
      equal(models.map(({ id }) => id).join(), config.model)
      equal((await pm.models.get(config.model)).object, 'model')
    },
  },
  {
    name: 'chats, and gives the verified receipt',
    async run(config) {
      const pm = await connect(config)
      const { model } = config
      const answer = await pm.chat.create({ model, messages: ask('hello there') })
      equal(answer.data.choices[0]?.message.content, 'You said: hello there')
      const receipt = await answer.receipt()
      equal(receipt.requestId, answer.requestId)
      equal(receipt.outcome, 'complete')
      equal(receipt.completionTokens, answer.data.usage.completion_tokens)
      expect(receipt.checks.length >= 8, 'the receipt was checked against the exchange')
    },
  },
  {
    name: 'streams to an authenticated end, whatever the shape',
    async run(config) {
      for (const shape of ['off', 'default'] as const) {
        const pm = await connect(config, { shape })
        const { model } = config
        const stream = await pm.chat.stream({ model, messages: ask('[[words 40]]') })
        let text = ''
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
        equal(text.split(' ').length, 40)
        equal((await stream.receipt()).outcome, 'complete')
      }
    },
  },
  {
    name: 'speaks the other dialect: messages, streams, token counts',
    async run(config) {
      const pm = await connect(config)
      const request = { model: config.model, max_tokens: 100, messages: ask('good morning') }
      const { data } = await pm.messages.create(request)
      const [block] = data.content
      equal(block?.type === 'text' ? block.text : '', 'You said: good morning')
      const types = new Set<string>()
      for await (const event of await pm.messages.stream(request)) types.add(event.type)
      expect(types.has('message_start') && types.has('message_stop'), [...types].join())
      const counted = await pm.messages.countTokens({ model: config.model, messages: ask('a b c') })
      expect(counted.data.input_tokens > 0, 'tokens are counted')
    },
  },
  {
    name: 'makes embeddings',
    async run(config) {
      const pm = await connect(config)
      const { data } = await pm.embeddings.create({ model: config.model, input: ['one', 'two'] })
      equal(data.data.length, 2)
      equal(data.data[1]?.embedding.length, 4)
    },
  },
  {
    name: 'stops a generation by signal, and by leaving the loop',
    async run(config) {
      const pm = await connect(config)
      const slow = { model: config.model, messages: ask('[[pace 50]] [[words 400]]') }
      const stop = new AbortController()
      const stream = await pm.chat.stream(slow, { signal: stop.signal })
      const failure = await fails(async () => {
        for await (const _ of stream) stop.abort()
      })
      equal((failure as Error).name, 'AbortError')
      const noReceipt = await fails(() => stream.receipt())
      equal(codeOf(noReceipt), 'receipt_missing')
      for await (const _ of await pm.chat.stream(slow)) break
      const early = await fails(() => pm.chat.create(slow, { signal: AbortSignal.abort() }))
      equal((early as Error).name, 'AbortError')
    },
  },
  {
    name: 'says what is wrong with a code, and whether a retry is safe',
    async run(config) {
      const { model } = config
      const wrongKey = await fails(() => connect(config, { apiKey: 'pm_wrong' }))
      equal([codeOf(wrongKey), retryableOf(wrongKey)].join(), 'invalid_api_key,false')
      const pm = await connect(config)
      const unknown = await fails(() => pm.chat.create({ model: 'nope', messages: ask('a') }))
      equal([codeOf(unknown), retryableOf(unknown)].join(), 'model_not_found,false')
      const bad = { model, messages: ask('secret words'), temperature: 9 }
      const invalid = await fails(() => pm.chat.create(bad))
      equal((invalid as PrivatemodeError).status, 400)
      equal((invalid as PrivatemodeError).param, 'temperature')
      expect(!JSON.stringify(describe(invalid)).includes('secret words'), 'no content in an error')
      const away = await fails(() => connect(config, { endpoint: 'http://127.0.0.1:9' }))
      equal([codeOf(away), retryableOf(away)].join(), 'gateway_unreachable,true')
      const options = await fails(() => connect(config, { endpoint: 'nowhere' }))
      equal(codeOf(options), 'invalid_options')
    },
  },
  {
    name: 'refuses a backend that it cannot verify',
    async run(config) {
      const { endpoint, apiKey, logKey } = config
      const manifest = { logKey }
      const production = await fails(() => Privatemode.connect({ endpoint, apiKey, manifest }))
      equal(describe(production).join(), 'attestation_refused,false,software_refused')
      const otherRoot = acceptSoftware('ab'.repeat(32))
      const untrusted = await fails(() => connect(config, { software: otherRoot }))
      equal(describe(untrusted).join(), 'attestation_refused,false,chain_untrusted')
      const otherLog = logKey.replace(/^[^+]+/, 'other/log')
      const forged = await fails(() => connect(config, { manifest: { logKey: otherLog } }))
      equal(describe(forged).join(), 'attestation_refused,false,log_malformed')
      // What the worker stated is good for a day, the manifest for 90.
      const inDays = (days: number) => () => new Date(Date.now() + days * 86_400_000)
      const frozen = await fails(() => connect(config, { now: inDays(60) }))
      equal(describe(frozen).join(), 'attestation_refused,false,log_stale')
      const patient = { logKey, maxAgeHours: 30 * 365 * 24 }
      const expired = await fails(() => connect(config, { now: inDays(60), manifest: patient }))
      equal(describe(expired).join(), 'attestation_refused,false,statement_expired')
      const old = await fails(() => connect(config, { now: inDays(120), manifest: patient }))
      equal(describe(old).join(), 'attestation_refused,false,manifest_expired')
    },
  },
  {
    name: 'remembers the log, and refuses one that differs from what it remembers',
    async run(config) {
      const storage = memoryStorage()
      await connect(config, { storage })
      const key = `privatemode/log/${config.logKey}`
      const note = await storage.get(key)
      expect(note?.includes('\n\n— ') === true, 'a signed checkpoint was stored')
      await connect(config, { storage })
      await storage.set(key, (note ?? '').replace(/^(.*)\n(\d+)\n/, '$1\n9\n'))
      const changed = await fails(() => connect(config, { storage }))
      equal(describe(changed).join(), 'attestation_refused,false,log_signature_invalid')
    },
  },
  {
    name: 'notices a network that changes, cuts or answers in the open',
    async run(config) {
      const { model } = config
      const flipped = await connect(config, { fetch: flipLastByte })
      const changed = await fails(() => flipped.chat.create({ model, messages: ask('a') }))
      equal(codeOf(changed), 'response_not_authentic')
      const cut = await connect(config, { fetch: cutLastByte, shape: 'off' })
      const stream = await cut.chat.stream({ model, messages: ask('[[words 100]]') })
      const failure = await fails(async () => {
        for await (const _ of stream);
      })
      equal([codeOf(failure), retryableOf(failure)].join(), 'worker_unreachable,true')
      const open = await connect(config, { fetch: inTheOpen })
      const clear = await fails(() => open.chat.create({ model, messages: ask('a') }))
      equal(codeOf(clear), 'upstream_error')
    },
  },
  {
    name: 'is a fetch that seals calls of the API and makes no other',
    async run(config) {
      const pm = await connect(config)
      const url = `${pm.baseURL}/chat/completions`
      const post = (body: object, init: RequestInit = {}) =>
        pm.fetch(url, { method: 'POST', body: JSON.stringify(body), ...init })
      const { model } = config
      const response = await post({ model, messages: ask('hello') })
      const json = (await response.json()) as { choices: { message: { content: string } }[] }
      equal(json.choices[0]?.message.content, 'You said: hello')
      equal((await pm.receiptOf(response)).status, 200)
      const streamed = await post({ model, stream: true, messages: ask('hello') })
      equal(streamed.headers.get('content-type')?.split(';')[0], 'text/event-stream')
      expect((await streamed.text()).trimEnd().endsWith('data: [DONE]'), 'the stream has its end')
      equal((await pm.receiptOf(streamed)).outcome, 'complete')
      const refused = await post({ model: 'nope', messages: [] })
      equal(refused.status, 404)
      equal((await pm.fetch(`${pm.baseURL}/files`)).status, 404)
      equal((await pm.fetch(new Request(`${pm.baseURL}/models`))).status, 200)
      const stop = AbortSignal.abort()
      const aborted = await fails(() => post({ model, messages: ask('a') }, { signal: stop }))
      equal((aborted as Error).name, 'AbortError')
    },
  },
  {
    name: 'draws all randomness from the given source, and salts as it is told',
    async run(config) {
      let drawn = 0
      const random = (length: number) => {
        drawn += length
        return crypto.getRandomValues(new Uint8Array(length))
      }
      const pm = await connect(config, { random, cacheSalt: 'shared-random' })
      const before = drawn
      const { model } = config
      const prompt = ask(`same prefix ${'again '.repeat(40)}`)
      await pm.chat.create({ model, messages: prompt })
      const second = await pm.chat.create({ model, messages: prompt })
      expect(before >= 64 && drawn >= before + 96, `${before} then ${drawn} bytes were drawn`)
      expect((await second.receipt()).cachedTokens > 0, 'calls of one client share a cache')
      const apart = await connect(config)
      await apart.chat.create({ model, messages: prompt })
      const isolated = await apart.chat.create({ model, messages: prompt })
      equal((await isolated.receipt()).cachedTokens, 0)
    },
  },
]

const codeOf = (error: unknown) => (error instanceof PrivatemodeError ? error.code : String(error))
const retryableOf = (error: unknown) => (error as PrivatemodeError).retryable
const describe = (error: unknown) => {
  const { refusal } = error as PrivatemodeError
  return [codeOf(error), retryableOf(error), ...(refusal === undefined ? [] : [refusal])]
}
