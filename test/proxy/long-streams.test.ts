/** Streams of many events: buffers are reused at once, and no byte may be lost by it. */
import { afterAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'
import { startSystem } from '../e2e/system.ts'
import { startProxy } from './proxy-process.ts'
import { chat, chatPath, post } from './scripted-system.ts'

/** Of lengths that fit no frame, so that events lie across the ends of frames. */
const words = Array.from({ length: 700 }, (_, index) => `${index} ${'x'.repeat(index % 97)}\n`)
const engine = new ScriptedEngine({ deltas: words.map((content) => ({ content })) })
const system = await startSystem({ engines: [engine] })

afterAll(() => system.stop())

test.each(['default', 'off'])(
  'every word arrives, many streams at once (shape %s)',
  async (shape) => {
    const proxy = await startProxy(system, {
      args: ['--apiKey', system.apiKey, '--trafficShape', shape],
    })
    try {
      const answers = Array.from({ length: 8 }, async () => {
        const response = await post(proxy, chatPath, chat({ stream: true }))
        return contentOf(await response.text())
      })
      for (const answer of await Promise.all(answers)) expect(answer).toBe(words.join(''))
    } finally {
      await proxy.stop()
    }
  },
  240_000,
)

test('a stream that is also dumped is dumped whole', async () => {
  const shape = ['--trafficShape', 'default'] // its frames are long
  const args = ['--apiKey', system.apiKey, '--dumpRequests', ...shape]
  const proxy = await startProxy(system, { args })
  await (await post(proxy, chatPath, chat({ stream: true }))).text()
  proxy.signal('SIGTERM')
  await proxy.exited
  const folder = join(proxy.workspace, 'requests')
  const [day = ''] = readdirSync(folder)
  const name = readdirSync(join(folder, day)).find((one) => one.endsWith('-response.txt')) ?? ''
  const text = readFileSync(join(folder, day, name), 'utf8')
  expect(contentOf(text.slice(text.indexOf('\n\n') + 2))).toBe(words.join(''))
}, 240_000)

function contentOf(events: string): string {
  return events
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)).choices[0]?.delta?.content ?? '')
    .join('')
}
