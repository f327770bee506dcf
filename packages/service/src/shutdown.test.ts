import { expect, test } from 'bun:test'
import { oneRequestMs, onShutdown, type ShutdownSignal } from './shutdown.ts'

function begin(stop: () => Promise<void>, limitMs = 10_000, now = () => 0) {
  const listeners = new Map<ShutdownSignal, () => void>()
  const exited = Promise.withResolvers<number>()
  const codes: number[] = []
  onShutdown({
    stop,
    limitMs,
    now,
    exit: (code) => {
      codes.push(code)
      exited.resolve(code)
    },
    on: (signal, listener) => void listeners.set(signal, listener),
  })
  return {
    send: (signal: ShutdownSignal) => listeners.get(signal)?.(),
    exited: exited.promise,
    codes,
  }
}

test('a signal shuts down in order and exits with 0', async () => {
  let stopped = 0
  const program = begin(async () => void stopped++)
  program.send('SIGTERM')
  expect(await program.exited).toBe(0)
  expect(stopped).toBe(1)
})

test('copies of one signal drain once; a later second signal exits immediately', async () => {
  let atMs = 5_000
  const program = begin(
    () => new Promise(() => {}),
    10_000,
    () => atMs,
  )
  program.send('SIGINT')
  program.send('SIGINT')
  atMs += oneRequestMs
  program.send('SIGTERM')
  expect(program.codes).toEqual([])
  atMs += 1
  program.send('SIGINT')
  expect(program.codes).toEqual([1])
})

test('a closed terminal shuts down in order, too', async () => {
  const program = begin(async () => {})
  program.send('SIGHUP')
  expect(await program.exited).toBe(0)
})

test('a shutdown that fails or takes too long exits with 1', async () => {
  const failing = begin(() => Promise.reject(new Error('no')))
  failing.send('SIGTERM')
  expect(await failing.exited).toBe(1)
  const slow = begin(() => new Promise(() => {}), 10)
  slow.send('SIGTERM')
  expect(await slow.exited).toBe(1)
})
