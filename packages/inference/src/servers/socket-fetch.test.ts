/** Model servers over plain sockets: connection reuse, answers in pieces, and how connections end. */
import { afterEach, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import { thrown } from '../../../../test/rejection.ts'
import { until } from '../testing/until.ts'
import type { ServerAsk } from './server-client.ts'
import { createSocketFetch } from './socket-fetch.ts'

type Answer = (socket: Socket<{ asked: number }>, request: string) => void

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A scripted server that counts connections and requests. */
function serve(answer: Answer, wholeBytes?: number) {
  const seen = { connections: 0, requests: [] as string[], closed: 0 }
  const listener = Bun.listen<{ asked: number }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { asked: 0 }
        seen.connections++
      },
      data(socket, bytes) {
        socket.data.asked++
        seen.requests.push(bytes.toString())
        answer(socket, bytes.toString())
      },
      close: () => void seen.closed++,
    },
  })
  const sockets = createSocketFetch(undefined, wholeBytes)
  closing.push(() => sockets.close())
  closing.push(() => listener.stop(true))
  const ask = (body: string | null, more: Partial<ServerAsk> = {}) =>
    sockets.fetch(`http://127.0.0.1:${listener.port}/v1/chat?a=b`, {
      ...{ method: body === null ? 'GET' : 'POST', headers: { accept: '*/*' }, body },
      ...{ signal: new AbortController().signal, redirect: 'manual', timeout: false, ...more },
    })
  return { seen, ask }
}

const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const whole = (text: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`

test('an answer that is read whole has a limit', async () => {
  let length = 10_000
  const { ask } = serve((socket) => void socket.write(whole('x'.repeat(length))), 10_000)
  expect(await (await ask('ask')).text()).toHaveLength(10_000)
  length++
  expect(await thrown((await ask('ask')).text())).toThrow('the answer is too long')
})

test('a request is complete, and the connection is reused', async () => {
  const { seen, ask } = serve((socket) => void socket.write(whole('{"a":1}')))
  const first = await ask('ä', { headers: { 'content-type': 'text/plain' } })
  expect([first.ok, first.status, await first.json()]).toEqual([true, 200, { a: 1 }])
  expect(await (await ask(null)).text()).toBe('{"a":1}')
  expect(seen.connections).toBe(1)
  expect(seen.requests[0]).toMatch(
    /^POST \/v1\/chat\?a=b HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\ncontent-type: text\/plain\r\ncontent-length: 2\r\n\r\nä$/,
  )
  expect(seen.requests[1]).toMatch(/^GET .*\r\naccept: \*\/\*\r\n\r\n$/s)
})

test('what arrived together is read together', async () => {
  const { ask } = serve((socket) => void socket.write(`${chunked}3\r\none\r\n`))
  const other = serve((socket) => {
    socket.write(`${chunked}3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n`)
    setTimeout(() => socket.write('4\r\nfour\r\n0\r\n\r\n'), 20)
  })
  const reader = (await ask('x')).body!.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('one')
  await reader.cancel()
  const pieces = (await other.ask('x')).body!.getReader()
  const texts: string[] = []
  for (let next = await pieces.read(); next.value; next = await pieces.read())
    texts.push(new TextDecoder().decode(next.value))
  expect(texts).toEqual(['onetwothree', 'four'])
})

test('a reader that gathers gets everything at the end, without waiting longer', async () => {
  const { ask } = serve((socket) => {
    socket.write(`${chunked}3\r\none\r\n3\r\ntwo\r\n`)
    setTimeout(() => socket.write('5\r\nthree\r\n'), 10)
    setTimeout(() => socket.write('4\r\nfour\r\n0\r\n\r\n'), 20)
  })
  const reader = (await ask('x')).body!.getReader()
  reader.gather?.(3_600_000)
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('onetwothreefour')
  expect((await reader.read()).done).toBe(true)
})

test('a reader that gathers still gets long answers in pieces, and what is left when it hangs up', async () => {
  const { ask } = serve((socket, request) => {
    const length = request.endsWith('long') ? 96 * 1024 : 3
    let rest = Buffer.from(`${chunked}${length.toString(16)}\r\n${'x'.repeat(length)}\r\n`)
    const pump = () => {
      rest = rest.subarray(Math.max(0, socket.write(rest)))
      if (rest.length > 0) setTimeout(pump, 1)
    }
    pump()
  })
  const long = (await ask('long')).body!.getReader()
  long.gather?.(3_600_000)
  let length = 0
  while (length <= 64 * 1024) length += (await long.read()).value?.length ?? 0
  await long.cancel()
  const reader = (await ask('short')).body!.getReader()
  reader.gather?.(3_600_000)
  const reading = thrown(reader.read())
  const rest: number[] = []
  void reader.rest?.((piece) => rest.push(piece.length))
  reader.hangUp?.()
  expect(await reading).toThrow()
  expect(rest).toEqual([3])
  await reader.cancel()
})

test('a long piece is read alone, without waiting for more', async () => {
  const long = 'x'.repeat(32 * 1024)
  const { ask } = serve((socket) => {
    socket.write(`${chunked}3\r\none\r\n`)
    setTimeout(() => socket.write(`8000\r\n${long}\r\n`), 20)
    setTimeout(() => socket.write('3\r\ntwo\r\n5\r\nthree\r\n0\r\n\r\n'), 40)
  })
  const reader = (await ask('x')).body!.getReader()
  reader.gather?.(3_600_000)
  const texts: string[] = []
  for (let next = await reader.read(); next.value; next = await reader.read())
    texts.push(new TextDecoder().decode(next.value))
  expect([texts[0], texts.at(-1)]).toEqual(['one', 'twothree'])
  expect(texts.join('')).toBe(`one${long}twothree`)
})

test('chunks that arrive together are the same text, wherever they are cut', async () => {
  const body = ['ä', 'bc', 'd'.repeat(300), 'e', 'f"g'].map((text) => {
    const length = Buffer.byteLength(text).toString(16)
    return `${length}\r\n${text}\r\n`
  })
  const sent = Buffer.from(`${chunked}${body.join('')}0\r\n\r\n`)
  const { ask } = serve((socket, request) => {
    const at = Number(/\d+$/.exec(request)?.[0])
    socket.write(sent.subarray(0, at))
    setImmediate(() => socket.write(sent.subarray(at)))
  })
  for (let at = 1; at < sent.length; at += at > 80 && at < 350 ? 40 : 1)
    expect(await (await ask(String(at))).text()).toBe(`äbc${'d'.repeat(300)}ef"g`)
})

test('a connection that died while idle is replaced once, a new one is not', async () => {
  const { seen, ask } = serve((socket, request) => {
    if (socket.data.asked > 1 || request.includes('die')) socket.terminate()
    else socket.write(whole('ok'))
  })
  await (await ask('first')).text()
  expect(await (await ask('second')).text()).toBe('ok')
  expect([seen.connections, seen.requests.length]).toEqual([2, 3])
  expect(await thrown(ask('die'))).toThrow()
  expect(await thrown(ask('die'))).toThrow('unreachable')
  expect([seen.connections, seen.requests.length]).toEqual([4, 6])
})

test('an unreachable server, and an abort meanwhile, are reported', async () => {
  const { seen, ask } = serve((socket) => void socket.write(whole('ok')))
  const early = new AbortController()
  const waiting = ask('x', { signal: early.signal })
  early.abort(new Error('enough'))
  expect(await thrown(waiting)).toThrow('enough')
  await until(() => seen.closed === seen.connections)
  expect(seen.requests).toEqual([])
  closing.pop()?.() // the listener
  expect(await thrown(ask('x'))).toThrow('Failed to connect')
})

test('an answer that breaks off returns what arrived, then fails', async () => {
  const { ask } = serve((socket) => {
    socket.write(`${chunked}3\r\none\r\n`)
    setTimeout(() => socket.end(), 10)
  })
  const reader = (await ask('x')).body!.getReader()
  expect((await reader.read()).value?.length).toBe(3)
  expect(await thrown(reader.read())).toThrow()
  const cut = await ask('x')
  expect(await thrown(cut.text())).toThrow()
})

test('an abort rejects immediately and reaches the server', async () => {
  const { seen, ask } = serve((socket, request) => {
    if (request.includes('begin')) socket.write(`${chunked}3\r\none\r\n`)
  })
  const before = new AbortController()
  const waiting = ask('silent', { signal: before.signal })
  await until(() => seen.requests.length === 1)
  before.abort(new Error('enough'))
  expect(await thrown(waiting)).toThrow('enough')
  const during = new AbortController()
  const reader = (await ask('begin', { signal: during.signal })).body!.getReader()
  during.abort(new Error('enough'))
  expect(await thrown(reader.read())).toThrow('enough')
  await until(() => seen.closed === 2)
  expect(await thrown(ask('x', { signal: AbortSignal.abort(new Error('never')) }))).toThrow('never')
})

test('a server is not read from while the consumer does not read', async () => {
  let sent = 0
  const piece = Buffer.alloc(64 * 1024, 120)
  const { ask } = serve((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${400 * piece.length}\r\n\r\n`)
    const pump = () => {
      while (sent < 400 * piece.length) {
        const taken = socket.write(piece.subarray(sent % piece.length))
        if (taken <= 0) break
        sent += taken
      }
      if (sent < 400 * piece.length) setTimeout(pump, 1)
    }
    pump()
  })
  const answer = await ask('x')
  let before = -1
  while (sent !== before) {
    before = sent
    await Bun.sleep(100)
  }
  expect(sent).toBeLessThan(200 * piece.length)
  expect((await answer.text()).length).toBe(400 * piece.length)
})

test('a header that would inject a second request is refused', async () => {
  const { seen, ask } = serve((socket) => void socket.write(whole('ok')))
  const headers = { authorization: 'Bearer a\r\n\r\nGET / HTTP/1.1' }
  expect(await thrown(ask('x', { headers }))).toThrow('character')
  expect(seen.connections).toBe(0)
})
