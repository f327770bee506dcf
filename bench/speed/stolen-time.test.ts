import { expect, test } from 'bun:test'
import { parseCpuTicks, watchStolen } from './stolen-time.ts'

const stat = (user: number, idle: number, stolen: number) =>
  `cpu  ${user} 1 20 ${idle} 5 2 3 ${stolen} 0 0\ncpu0 9 9 9 9 9 9 9 9 0 0\n`

test('idle time and waiting for disks are not time that was used', () => {
  expect(parseCpuTicks(stat(100, 1000, 7))).toEqual({ used: 126, stolen: 7 })
})

test('stolen time is counted against the time that was asked for', () => {
  const read = [stat(100, 1000, 7), stat(175, 9000, 32)]
  const stolen = watchStolen(() => read.shift() ?? '')
  expect(stolen()).toBe(0.25)
})

test('on a machine that was idle, nothing is stolen', () => {
  expect(watchStolen(() => stat(100, 1000, 7))()).toBe(0)
})
