/** What an observer between a plain HTTPS client and the proxyless endpoint can see, and what the client gets. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { createTestAuthority } from '@privatemode/service/testing'
import OpenAI from 'openai'
import type { EngineCall } from '../../packages/inference/src/engine.ts'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'
import { findPython } from '../clients/python-clients.ts'
import { untilReady } from '../confined/parts.ts'
import { startSystem } from '../e2e/system.ts'
import { startProxy } from '../proxy/proxy-process.ts'
import { rejection } from '../rejection.ts'
import { shortShapes, shortUnits } from './short-shapes.ts'
import { startWireTap } from './wire-tap.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-proxyless-'))
const authority = createTestAuthority('Proxyless CA')
const { certPem, keyPem } = authority.issue(['localhost', '127.0.0.1'])
const certPath = join(folder, 'cert.pem')
const caPath = join(folder, 'ca.pem')
writeFileSync(certPath, certPem)
writeFileSync(caPath, authority.certPem)
writeFileSync(join(folder, 'key.pem'), keyPem)

/** Tokens of very different lengths. */
const deltas = ['a', 'bb'.repeat(40), 'c', 'd'.repeat(150), '\n', 'end'].map((content) => ({
  content,
}))
const said = deltas.map(({ content }) => content).join('')
/** Opened by tests that look at the wire before the engine has said anything. */
let gate = Promise.withResolvers<void>()
const wantsLong = ({ body }: EngineCall) => JSON.stringify(body).includes('long')
const engine = new ScriptedEngine({
  deltas,
  before: async (call) => {
    if (JSON.stringify(call.body).includes('at the gate')) await gate.promise
    if (JSON.stringify(call.body).includes('refused')) throw new Error('refused')
    // Longer than an answer may take to be sent as it is: the clock of streams hides when it was ready.
    if (wantsLong(call) && call.body.stream !== true) await Bun.sleep(60)
  },
  beforeChunk: (_, call) => Bun.sleep(wantsLong(call) ? 60 : 1),
})
const system = await startSystem({ engines: [engine], shapeOf: shortShapes })
const hosted = (shape: string) =>
  startProxy(system, {
    args: [
      ...['--hosted', '--hostedSaltSecret', 'd'.repeat(64), '--trafficShape', shape],
      ...['--tlsCertPath', certPath, '--tlsKeyPath', join(folder, 'key.pem')],
    ],
    cold: true,
  })
const proxies = { default: await hosted('default'), strict: await hosted('strict') }
const taps = {
  default: startWireTap(proxies.default.url),
  strict: startWireTap(proxies.strict.url),
}

afterAll(async () => {
  for (const tap of Object.values(taps)) tap.stop()
  await Promise.all(Object.values(proxies).map((proxy) => proxy.stop()))
  await system.stop()
  rmSync(folder, { recursive: true, force: true })
})

const model = 'org/chat-1'
const trusted = ((url: string, init: RequestInit) =>
  fetch(url, { ...init, tls: { ca: authority.certPem } } as RequestInit)) as typeof fetch
const openai = (url: string) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: system.apiKey, fetch: trusted })
const messages = (content: string) => [{ role: 'user' as const, content }]

type Ask = (url: string, content: string) => Promise<string>
const streams: Record<string, Ask> = {
  'openai, chat': async (url, content) => {
    let text = ''
    const stream = await openai(url).chat.completions.create({
      ...{ model, messages: messages(content), stream: true },
    })
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    return text
  },
  'openai, responses': async (url, content) => {
    let text = ''
    const stream = await openai(url).responses.create({ model, input: content, stream: true })
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    return text
  },
  anthropic: async (url, content) => {
    const client = new Anthropic({ baseURL: url, apiKey: system.apiKey, fetch: trusted })
    const stream = client.messages.stream({
      ...{ model, max_tokens: 100, messages: messages(content) },
    })
    return await stream.finalText()
  },
}
const python = findPython()
if (python !== undefined) {
  streams['openai and anthropic for Python'] = async (url, content) => {
    const program = `
import sys, openai, anthropic
url, key, content = sys.argv[1:]
messages = [{"role": "user", "content": content}]
client = openai.OpenAI(base_url=url + "/v1", api_key=key)
said = ""
for chunk in client.chat.completions.create(model="${model}", messages=messages, stream=True):
    if chunk.choices: said += chunk.choices[0].delta.content or ""
client = anthropic.Anthropic(base_url=url, api_key=key)
with client.messages.stream(model="${model}", max_tokens=9, messages=messages) as stream:
    assert stream.get_final_text() == said
print(said, end="")
`
    const child = Bun.spawn([python, '-c', program, url, system.apiKey, content], {
      env: { PATH: process.env.PATH ?? '', SSL_CERT_FILE: caPath },
      stdout: 'pipe',
    })
    return await new Response(child.stdout).text()
  }
}

for (const shape of ['default', 'strict'] as const) {
  const url = `https://localhost:${taps[shape].port}`
  for (const [name, ask] of Object.entries(streams)) {
    test(`${shape}, ${name}: reads a stream that is filled with comments`, async () => {
      expect(await ask(url, 'short')).toBe(said)
    }, 240_000)
  }

  test(`${shape}: lengths of tokens and of answers do not show`, async () => {
    const tap = taps[shape]
    const ask = streams['openai, chat'] as Ask
    const bytesOf = async (content: string) => {
      tap.forget()
      const before = tap.answerBytes()
      expect(await ask(url, content)).toBe(said)
      return tap.answerBytes() - before
    }
    await ask(url, 'warm') // certificates, sessions
    const { unitBytes = 0, growth = 0 } = shortShapes(shape).stream ?? {}
    const tail = shape === 'default' ? 16 * 1024 : 64 * 1024
    for (const content of ['short', 'long']) {
      const bytes = await bytesOf(content)
      // A busy machine may need the next length; whatever the length is, all of it is there.
      const lengths = [0, 1, 2, 3, 4].map((power) => shortUnits * growth ** power * unitBytes)
      // The client may have read its last event before the rest of the last bytes was seen here.
      const over = lengths.map((length) => bytes - length)
      expect(over.some((rest) => rest > 0 && rest < tail + 16 * 1024)).toBe(true)
    }
  }, 240_000)

  test(`${shape}: answers that are not streamed, and errors, have one length`, async () => {
    const sizes = new Set<number>()
    for (const body of [
      { model, messages: messages('short') },
      { model, messages: [] },
      { model: 'unknown', messages: messages('short') },
    ]) {
      const response = await trusted(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${system.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const text = await response.text()
      expect(Object.keys(JSON.parse(text))).not.toEqual([])
      sizes.add(text.length)
    }
    expect(sizes).toEqual(new Set([shape === 'default' ? 32 * 1024 : 256 * 1024]))
    const whole = await openai(url).chat.completions.create({ model, messages: messages('short') })
    expect(whole.choices[0]?.message.content).toBe(said)
  }, 240_000)

  test(`${shape}: an answer that is not streamed, or an error for it, comes with the end of the padding`, async () => {
    // Fewer than all ticks: the first is the time of the first frame, and a timer may be a moment early.
    const leastMs = (shortUnits - 2) * (shortShapes(shape).stream?.tickMs ?? 0)
    for (const content of ['long', 'refused']) {
      const startMs = performance.now()
      const asked = openai(url).chat.completions.create({ model, messages: messages(content) })
      await asked.catch(() => {})
      expect(performance.now() - startMs).toBeGreaterThan(leastMs)
    }
  }, 240_000)

  test(`${shape}: a stream begins before the engine says anything, and an error after that is an event`, async () => {
    const tap = taps[shape]
    // In the strict shape each takes its time.
    const names = [
      'openai, chat',
      ...(shape === 'strict' ? [] : ['openai, responses', 'anthropic']),
    ]
    const beganMs: number[] = []
    for (const ask of names.map((name) => streams[name] as Ask)) {
      for (const ending of ['answered', 'refused']) {
        const startMs = performance.now()
        gate = Promise.withResolvers()
        tap.forget()
        const before = tap.answerBytes()
        const asked = ask(url, `${ending} at the gate`).catch((error: unknown) => error)
        try {
          // More than a handshake.
          await untilReady('it', () => tap.answerBytes() - before > 40 * 1024, 60_000)
          beganMs.push(performance.now() - startMs)
        } finally {
          gate.resolve()
        }
        const answer = await asked
        if (ending === 'answered') expect(answer).toBe(said)
        else expect(answer).toBeInstanceOf(Error)
      }
    }
    // Workers themselves begin a stream after ten seconds of silence.
    expect(Math.min(...beganMs)).toBeLessThan(9_000)
  }, 240_000)

  test(`${shape}: an error in place of a stream is read as an error`, async () => {
    const ask = async () =>
      await openai(url).chat.completions.create({ model, messages: [], stream: true })
    expect(await rejection(ask())).toMatchObject({ status: 400 })
  }, 240_000)
}
