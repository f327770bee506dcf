/** One HTTP exchange over a raw socket: unlike `fetch`, it reports how the answer ended. */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export type Target = {
  readonly port: number
  /** PEM of the authority to trust; enables TLS. */
  readonly ca?: string
}

export type Asking = {
  readonly method?: string
  readonly path: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Sends this many bytes at a time, every 20 ms. */
  readonly writeBytes?: number
  /** Pauses reading for this long after every piece. */
  readonly readPauseMs?: number
  /** Disconnects after this many bytes of the answer. */
  readonly leaveAfterBytes?: number
}

export type Ending =
  /** The framing marks the answer as complete. */
  | 'whole'
  /** The connection ended before that. */
  | 'cut'
  | 'no connection'
  | 'timeout'
  | 'left'

export type Reply = {
  readonly ending: Ending
  /** Zero if no head arrived. */
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
  /** Milliseconds to the first byte of the answer's body. */
  readonly firstMs: number
}

export function exchange(target: Target, asking: Asking): Promise<Reply> {
  const startedMs = performance.now()
  return new Promise((resolve) => {
    const pieces: Buffer[] = []
    let size = 0
    let connected = false
    let firstMs = 0
    const timers = new Set<ReturnType<typeof setTimeout>>()
    const finish = (ending: Ending) => {
      for (const timer of timers) clearTimeout(timer)
      socket.destroy()
      const reply = parseReply(Buffer.concat(pieces))
      const left = ending === 'left' || ending === 'timeout' || ending === 'no connection'
      resolve({ ...reply, firstMs, ending: left ? ending : reply.ending })
    }
    const socket = open(target, () => {
      connected = true
      send(socket, asking, timers)
    })
    socket.on('data', (piece: Buffer) => {
      if (size === 0) firstMs = performance.now() - startedMs
      pieces.push(piece)
      size += piece.length
      if (size >= (asking.leaveAfterBytes ?? Number.POSITIVE_INFINITY)) finish('left')
      if (asking.readPauseMs === undefined) return
      socket.pause()
      timers.add(setTimeout(() => socket.resume(), asking.readPauseMs))
    })
    socket.on('error', () => {}) // `close` follows
    socket.on('close', () => finish(connected ? 'cut' : 'no connection'))
    timers.add(setTimeout(() => finish('timeout'), asking.timeoutMs))
  })
}

function open({ port, ca }: Target, opened: () => void): Socket {
  const where = { host: '127.0.0.1', port }
  if (ca === undefined) return connectTcp(where, opened)
  return connectTls({ ...where, ca, servername: 'localhost' }, opened)
}

function send(socket: Socket, asking: Asking, timers: Set<ReturnType<typeof setTimeout>>): void {
  const { method = 'POST', path, body = '', headers = {} } = asking
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'host: localhost',
    'connection: close',
    ...(method === 'GET'
      ? []
      : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  const message = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
  const step = asking.writeBytes ?? message.length
  const write = (from: number) => {
    if (socket.destroyed) return
    socket.write(message.subarray(from, from + step))
    if (from + step < message.length) timers.add(setTimeout(() => write(from + step), 20))
  }
  write(0)
}

function parseReply(bytes: Buffer): Omit<Reply, 'firstMs'> {
  const split = bytes.indexOf('\r\n\r\n')
  if (split < 0) return { ending: 'cut', status: 0, headers: new Map(), text: '' }
  const [first = '', ...lines] = bytes.subarray(0, split).toString('latin1').split('\r\n')
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
    }),
  )
  const status = Number(first.split(' ')[1])
  const { body, whole } = readBody(bytes.subarray(split + 4), headers)
  return { ending: whole ? 'whole' : 'cut', status, headers, text: body.toString('utf8') }
}

function readBody(
  bytes: Buffer,
  headers: ReadonlyMap<string, string>,
): { body: Buffer; whole: boolean } {
  if (headers.get('transfer-encoding') !== 'chunked') {
    const length = Number(headers.get('content-length') ?? Number.NaN)
    return { body: bytes, whole: bytes.length === length }
  }
  const pieces: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) break
    const length = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16)
    if (length === 0) {
      const ended = bytes.subarray(line + 2).toString('latin1') === '\r\n'
      return { body: Buffer.concat(pieces), whole: ended }
    }
    if (!(length > 0) || line + 2 + length > bytes.length) {
      pieces.push(bytes.subarray(line + 2))
      break
    }
    pieces.push(bytes.subarray(line + 2, line + 2 + length))
    at = line + 4 + length
  }
  return { body: Buffer.concat(pieces), whole: false }
}
