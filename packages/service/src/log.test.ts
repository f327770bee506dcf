import { expect, test } from 'bun:test'
import { createLog, type LogFormat, parseLogLevel } from './log.ts'
import { describeError } from './log-line.ts'
import { ServiceError } from './service-error.ts'

function collect(format: LogFormat, level = 0) {
  const lines: string[] = []
  const now = () => new Date('2026-01-02T03:04:05Z')
  const log = createLog({ format, level, now, write: (text) => void lines.push(text) })
  const text = () => {
    log.flush()
    return lines.join('')
  }
  return { log, text }
}

test('a text line has time, level, event and fields', () => {
  const { log, text } = collect('text')
  log.info('request answered', { status: 200, route: '/v1/models', detail: 'two words' })
  expect(text()).toBe(
    'time=2026-01-02T03:04:05.000Z level=INFO msg="request answered" status=200 route=/v1/models detail="two words"\n',
  )
})

test('a json line is one object', () => {
  const { log, text } = collect('json')
  log.warn('worker gone', { worker: 'w_1', attempts: 2 })
  expect(JSON.parse(text())).toEqual({
    time: '2026-01-02T03:04:05.000Z',
    level: 'WARN',
    msg: 'worker gone',
    worker: 'w_1',
    attempts: 2,
  })
})

test('a field that is not on the list is dropped at run time, in both formats', () => {
  for (const format of ['text', 'json'] as const) {
    const { log, text } = collect(format)
    log.error('request failed', { prompt: 'attack at dawn', status: 500 } as { status: number })
    expect(text()).toContain('500')
    expect(text()).not.toContain('dawn')
  }
})

test('a value that is not a string, number or boolean is dropped', () => {
  const { log, text } = collect('text')
  log.error('request failed', { detail: { body: 'attack' } as unknown as string })
  expect(text()).not.toContain('attack')
})

test('a value cannot forge a line or grow without bound', () => {
  const { log, text } = collect('text')
  log.error('x happened', { detail: `a\nlevel=INFO ${'y'.repeat(9000)}` })
  expect(text().split('\n')).toHaveLength(2)
  expect(text().length).toBeLessThan(700)
})

test('levels below the chosen number are silent', () => {
  const { log, text } = collect('text', 4)
  log.debug('a')
  log.info('b')
  log.warn('c')
  expect(text()).toContain('level=WARN')
  expect(text()).not.toContain('level=INFO')
})

test('a level is a name in any case or a number', () => {
  expect(['debug', 'info', 'warn', 'ERROR', '-4', '2', 'loud', ''].map(parseLogLevel)).toEqual([
    -4,
    0,
    4,
    8,
    -4,
    2,
    undefined,
    undefined,
  ])
})

test("an error's message is shown only if it has a code, so parsers cannot quote their input", () => {
  expect(describeError(new ServiceError('timeout', 'late'))).toEqual({
    code: 'timeout',
    detail: 'late',
  })
  expect(describeError(new Error('secret inside'))).toEqual({ code: 'Error' })
  expect(describeError(Object.assign(new SyntaxError('"prompt"'), { code: 'X' }))).toEqual({
    code: 'SyntaxError',
  })
  expect(describeError('thrown text')).toEqual({ code: 'unknown' })
})

test('an event assembled at run time does not compile', () => {
  const { log } = collect('text')
  const dynamic: string = 'made up'
  // @ts-expect-error the event must be a literal
  log.info(dynamic)
})
