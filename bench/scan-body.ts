/** How fast the body scanner reads 10 MB bodies of different shapes, compared with a full parse. */
import { scanBody } from '@privatemode/protocol/api'

const encoder = new TextEncoder()
const bodyOf = (fields: object) => encoder.encode(JSON.stringify({ model: 'm', ...fields }))
const line = 'const a = "b"\nfoo("bar", x) + a very long line of code goes here and on\n'

const bodies = {
  'one long string': bodyOf({ messages: [{ role: 'user', content: 'x'.repeat(10_000_000) }] }),
  'source code': bodyOf({ messages: [{ role: 'user', content: line.repeat(140_000) }] }),
  'many messages': bodyOf({
    messages: Array.from({ length: 130_000 }, (_, i) => ({
      role: 'user',
      content: `turn ${i} ${line}`,
    })),
  }),
  'token ids': bodyOf({ input: Array.from({ length: 1_500_000 }, (_, i) => i) }),
}

for (const [name, body] of Object.entries(bodies)) {
  const scanned = rate(body, () => scanBody(body))
  const parsed = rate(body, () => JSON.parse(new TextDecoder().decode(body)))
  console.log(
    `${name}: scan ${scanned.toFixed(2)} GB/s, parse ${parsed.toFixed(2)} GB/s, ratio ${(scanned / parsed).toFixed(1)}`,
  )
}

function rate(body: Uint8Array, run: () => unknown): number {
  const rounds = 12
  for (let i = 0; i < 3; i++) run()
  const started = performance.now()
  for (let i = 0; i < rounds; i++) run()
  return (body.length * rounds) / (performance.now() - started) / 1e6
}
