import { expect, test } from 'bun:test'
import type { BilledRequest } from '@privatemode/protocol/fleet'
import { readNewest } from './newest-requests.ts'

const pages = (count: number) => async (after: string | null) => {
  const page = Number(after ?? 0)
  const requests = [{ admission_id: `request ${page}` }] as BilledRequest[]
  return { requests, next: page + 1 < count ? String(page + 1) : null }
}

test('all pages are read, and a list that is cut off says so', async () => {
  const whole = await readNewest(3, pages(3))
  expect(whole.requests.map((row) => row.admission_id)).toEqual([
    ...['request 0', 'request 1', 'request 2'],
  ])
  expect(whole.isCut).toBe(false)
  const cut = await readNewest(2, pages(3))
  expect(cut.requests).toHaveLength(2)
  expect(cut.isCut).toBe(true)
})
