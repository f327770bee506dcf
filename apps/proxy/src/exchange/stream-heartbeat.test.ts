import { expect, test } from 'bun:test'
import { createHeartbeats } from './stream-heartbeat.ts'

/** The timer is real and fast; it compares the test's own clock. */
test('a quiet stream gets a heartbeat, a busy one and an ended one do not', async () => {
  let nowMs = 0
  const beats = { quiet: 0, busy: 0, ended: 0, other: 0 }
  const heartbeats = createHeartbeats(60, () => nowMs)
  const until = async (isTrue: () => boolean) => {
    while (!isTrue()) await Bun.sleep(1)
  }
  const quiet = heartbeats.start(() => beats.quiet++)
  const busy = heartbeats.start(() => beats.busy++)
  heartbeats.start(() => beats.ended++).end()
  for (let count = 1; count <= 2; count++) {
    nowMs += 61
    busy.sent()
    await until(() => beats.quiet === count)
  }
  expect(beats).toEqual({ quiet: 2, busy: 0, ended: 0, other: 0 })
  quiet.end()
  heartbeats.start(() => beats.other++)
  nowMs += 61
  busy.sent()
  await until(() => beats.other === 1)
  expect(beats.quiet).toBe(2)
  heartbeats.stop()
})
