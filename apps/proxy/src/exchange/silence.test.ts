import { expect, test } from 'bun:test'
import { createSilence } from './silence.ts'

test('a silent stream is spoken to, one that is heard is not, an ended one no more', async () => {
  let spoken = 0
  let others = 0
  const silence = createSilence(60)
  const watched = silence.watch(() => spoken++)
  const busy = silence.watch(() => others++)
  const busyTimer = setInterval(() => busy.heard(), 5)
  while (spoken < 2) await Bun.sleep(5)
  watched.end()
  const then = spoken
  await Bun.sleep(100)
  expect(spoken).toBe(then)
  expect(others).toBe(0)
  clearInterval(busyTimer)
  silence.stop()
})
