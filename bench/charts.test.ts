import { expect, test } from 'bun:test'
import { drawBars, drawDots, drawPanels, short } from './charts.ts'

test('names are escaped, so that a label cannot become markup', () => {
  const bar = { label: 'a <b> & "c"', value: 1, least: 1, most: 2, isOurs: true }
  const chart = drawBars('title', 'ms', [bar])
  expect(chart).toContain('a &lt;b> &amp; &quot;c&quot;')
  expect(chart).not.toContain('<b>')
})

test('bars that were not measured are left out', () => {
  const bar = (label: string, value: number) => ({ label, value, least: 1, most: 2, isOurs: false })
  const chart = drawBars('title', 'ms', [bar('measured', 1), bar('missing', 0)])
  expect(chart).toContain('measured')
  expect(chart).not.toContain('missing')
})

test('a series without a value for a row has no dot in it', () => {
  const series = { off: '#111111', strict: '#222222' }
  const rows = [{ label: 'law', values: { off: 0.5 } }]
  const chart = drawDots('title', series, rows, { label: 'base rate', value: 0.1 })
  // One dot in the row and one in the legend, against one in the legend alone.
  expect(chart.split('#111111').length - 1).toBe(2)
  expect(chart.split('#222222').length - 1).toBe(1)
})

test('panels are drawn one below the other', () => {
  const curves = [{ name: 'proxy', points: [[0, 1] as const, [10, 2] as const] }]
  const chart = drawPanels('soak', 10, [
    { title: 'memory', curves },
    { title: 'latency', curves },
  ])
  expect(chart).toContain('height="400"')
  expect(chart.split('<polyline').length - 1).toBe(2)
})

test('numbers are shown with three digits', () => {
  expect([0, 0.1234, 12.34, 1234, 12_345, 1.5e6].map(short)).toEqual([
    '0',
    '0.123',
    '12.3',
    '1234',
    '12.3k',
    '1.5M',
  ])
})
