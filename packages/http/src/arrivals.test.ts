/** What arrives together is handled together, in order, and never lost. */
import { expect, test } from 'bun:test'
import { setImmediate as nextPass } from 'node:timers/promises'
import { Arrivals } from './arrivals.ts'

const piece = (text: string) => Buffer.from(text)

/** Arrivals, receivers that note what they get, and everything that happened in order. */
function arrivalsOf() {
  const arrivals = new Arrivals()
  const seen: string[] = []
  const receiver = (name: string, take: (text: string) => void = () => {}) => ({
    data(bytes: Buffer) {
      const text = bytes.length > 1000 ? `${bytes.length} bytes` : bytes.toString()
      seen.push(`${name} ${text}`)
      take(text)
    },
    cut: () => void seen.push(`${name} cut`),
  })
  return { arrivals, seen, receiver }
}

/** Passes in which several messages arrive, until they are gathered. */
async function crowd(arrivals: Arrivals): Promise<void> {
  const other = { data: () => {}, cut: () => {} }
  for (let count = 0; count < 40; count++) arrivals.add(other, piece('x'))
  await nextPass()
}

test('a message that arrives alone is handed over at once', async () => {
  const { arrivals, seen, receiver } = arrivalsOf()
  const lone = receiver('a')
  for (let pass = 0; pass < 40; pass++) {
    arrivals.add(lone, piece(String(pass)))
    expect(seen).toHaveLength(pass + 1)
    await nextPass()
  }
})

test('messages that arrive together are handed over together, in order', async () => {
  const { arrivals, seen, receiver } = arrivalsOf()
  await crowd(arrivals)
  const [a, b] = [receiver('a'), receiver('b')]
  arrivals.add(a, piece('1'))
  arrivals.add(b, piece('2'))
  arrivals.add(a, piece('3'))
  expect(seen).toEqual([])
  await nextPass()
  expect(seen).toEqual(['a 1', 'b 2', 'a 3'])
})

test('each step of messages that arrived together is taken side by side', async () => {
  const { arrivals, seen, receiver } = arrivalsOf()
  await crowd(arrivals)
  const steps = (name: string) =>
    receiver(name, () => {
      void Promise.resolve().then(() => void seen.push(`${name} second step`))
    })
  arrivals.add(steps('a'), piece('1'))
  arrivals.add(steps('b'), piece('1'))
  await nextPass()
  expect(seen).toEqual(['a 1', 'b 1', 'a second step', 'b second step'])
})

test('a long message is not held, nor are many short ones, and none overtakes another', async () => {
  const { arrivals, seen, receiver } = arrivalsOf()
  await crowd(arrivals)
  const [a, b] = [receiver('a'), receiver('b')]
  arrivals.add(a, piece('1'))
  arrivals.add(b, Buffer.alloc(200_000))
  expect(seen).toEqual(['a 1', 'b 200000 bytes'])
  for (let count = 0; count < 22; count++) arrivals.add(a, Buffer.alloc(100_000))
  expect(seen.length).toBeGreaterThan(20)
})

test('a connection gets its last bytes before its end', async () => {
  const { arrivals, seen, receiver } = arrivalsOf()
  await crowd(arrivals)
  arrivals.add(receiver('a'), piece('last'))
  arrivals.deliver()
  expect(seen).toEqual(['a last'])
  await nextPass()
  expect(seen).toEqual(['a last'])
})

test('a receiver that throws is cut, and the others get what is theirs', async () => {
  const { arrivals, seen, receiver } = arrivalsOf()
  await crowd(arrivals)
  const broken = receiver('a', () => {
    throw new Error('broken')
  })
  arrivals.add(broken, piece('1'))
  arrivals.add(receiver('b'), piece('2'))
  await nextPass()
  expect(seen).toEqual(['a 1', 'a cut', 'b 2'])
})

test('messages that come alone again are no longer held', async () => {
  const { arrivals, seen, receiver } = arrivalsOf()
  await crowd(arrivals)
  const lone = receiver('a')
  for (let pass = 0; pass < 20; pass++) {
    arrivals.add(lone, piece('x'))
    await nextPass()
  }
  seen.length = 0
  arrivals.add(lone, piece('now'))
  expect(seen).toEqual(['a now'])
})
