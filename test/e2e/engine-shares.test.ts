/** One key cannot take all places at a worker's engine, whatever the gateway lets through. */
import { expect, test } from 'bun:test'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'
import { startSystem } from './system.ts'

/** Of the embedded engine: 64 requests may wait while one is answered, and a key gets 80% of those places. */
const share = 52

test('a key that fills its share of an engine gets 429, and others get their answers', async () => {
  const held = Promise.withResolvers<void>()
  let atEngine = 0
  const before = async ({ body }: { readonly body: { readonly user?: unknown } }) => {
    if (body.user !== 'greedy') return
    atEngine++
    await held.promise
  }
  const system = await startSystem({ engines: [new ScriptedEngine({ before })] })
  try {
    const client = system.client()
    const ask = async (apiKey: string, user: string) => {
      const messages = [{ role: 'user', content: 'hello' }]
      const answer = await client.exchange({
        path: '/v1/chat/completions',
        model: 'org/chat-1',
        body: new TextEncoder().encode(JSON.stringify({ model: 'org/chat-1', messages, user })),
        stream: false,
        apiKey,
      })
      return { status: answer.head.status, text: new TextDecoder().decode(await answer.whole()) }
    }
    const asked = Array.from({ length: share + 8 }, () => ask(system.apiKey, 'greedy'))
    const refused: string[] = []
    for (const one of asked) void one.then(({ text }) => refused.push(text))
    while (atEngine < share || refused.length < 8) await Bun.sleep(5)
    expect(atEngine).toBe(share)
    for (const text of refused) expect(text).toContain('has used up its share')

    const other = await system.createKey('other')
    expect((await ask(other, 'modest')).status).toBe(200)
    held.resolve()
    const answered = await Promise.all(asked)
    expect(answered.filter(({ status }) => status === 200)).toHaveLength(share)
    expect(answered.filter(({ status }) => status === 429)).toHaveLength(8)
    expect((await ask(system.apiKey, 'modest')).status).toBe(200)
  } finally {
    held.resolve()
    await system.stop()
  }
}, 240_000)
