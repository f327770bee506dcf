import { expect, test } from 'bun:test'
import { createMetrics } from './metrics.ts'

test('counters, gauges and histograms are written in the text format', () => {
  const metrics = createMetrics()
  const requests = metrics.counter('requests_total', 'Requests.')
  requests.add(1, { status: '200' })
  requests.by('status')('200').add(2)
  metrics.gauge('open', 'Open streams.').set(3)
  metrics.gaugeOf('memory_bytes', 'Memory.', () => 7)
  metrics.gaugesOf('up', 'Up.', () => [
    [{ part: 'a' }, 1],
    [{ part: 'b' }, 0],
  ])
  const seconds = metrics.histogram('seconds', 'Time.', [0.1, 1])
  seconds.observe(0.05)
  seconds.observe(0.5)
  seconds.observe(5)
  expect(metrics.format()).toBe(`# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{status="200"} 3
# HELP open Open streams.
# TYPE open gauge
open 3
# HELP memory_bytes Memory.
# TYPE memory_bytes gauge
memory_bytes 7
# HELP up Up.
# TYPE up gauge
up{part="a"} 1
up{part="b"} 0
# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{le="0.1"} 1
seconds_bucket{le="1"} 2
seconds_bucket{le="+Inf"} 3
seconds_sum 5.55
seconds_count 3
`)
})

test('a label value is escaped', () => {
  const metrics = createMetrics()
  metrics.counter('c', 'C.').add(1, { model: 'a"b\\c\nd' })
  expect(metrics.format()).toContain('c{model="a\\"b\\\\c\\nd"} 1')
})

test('series above the limit are merged into one, so that clients cannot grow the registry', () => {
  const metrics = createMetrics()
  const counter = metrics.counter('c', 'C.')
  for (let index = 0; index < 2000; index++) counter.add(1, { model: `m${index}` })
  expect(metrics.format().split('\n').length).toBeLessThan(510)
  const byModel = counter.by('model')
  for (let index = 0; index < 2000; index++) byModel(`m${index}`).add()
  expect(metrics.format().split('\n').length).toBeLessThan(510)
  expect(metrics.format()).toContain('c{model="other"} 3000')
})
