/**
 * Makes requests over keep-alive connections and counts answers: `bun bench/load/load.ts SPEC`.
 *
 * Requests are built once and sent unchanged. It runs in its own process, pinned by the program that
 * starts it, and reports how much CPU time it used, to show that it is not the bottleneck.
 */
import type { Socket } from 'bun'
import { AnswerReader } from './answer-reader.ts'
import { Histogram } from './histogram.ts'
import {
  clockUs,
  type LoadResult,
  type LoadSpec,
  requestBody,
  type SealedSpec,
  type Spread,
  stampDigits,
  stampMark,
} from './load-spec.ts'

const spec = JSON.parse(process.argv[2] ?? '{}') as LoadSpec
const maxFailures = 64
const settleMs = 30_000
const mark = Buffer.from(stampMark)

let latency = new Histogram()
let firstByte = new Histogram()
let chunkDelay = new Histogram()
let begun = 0
let answered = 0
let answeredInTime = 0
let pieces = 0
let failures = 0
let firstFailure: string | undefined
let bytesIn = 0
let payloadBytes = -1
let open = 0
let over: () => void = () => {}
const allOver = new Promise<void>((resolve) => {
  over = resolve
})

const message = formatMessage()
const nextSealed = spec.sealed && (await createSealer(spec.sealed))
/** Connections that have made the uncounted request; none if all requests count. */
let rehearsed: Client[] | undefined = spec.rehearse ? [] : undefined
let startMs = performance.now()
let endMs = startMs + spec.seconds * 1000

class Client {
  #message = message
  readonly #reader = new AnswerReader()
  #socket: Socket<Client> | undefined
  #sentMs = 0
  #unsent = 0
  #waits = false
  #sawFirst = false

  begin(): void {
    if (!mayBegin()) {
      this.#leave()
      return
    }
    begun++
    this.#reader.reset()
    this.#sawFirst = false
    this.#waits = true
    if (nextSealed !== undefined) this.#message = nextSealed() // before the time counts
    this.#sentMs = performance.now()
    if (this.#socket === undefined) {
      this.#connect()
      return
    }
    this.#send()
  }

  #connect(): void {
    const opening = Bun.connect<Client>({
      hostname: '127.0.0.1',
      port: spec.port,
      ...(spec.tls ? { tls: { rejectUnauthorized: false } } : {}),
      data: this,
      socket: handlers,
    })
    opening.catch((error: unknown) => this.fail(String(error)))
  }

  opened(socket: Socket<Client>): void {
    this.#socket = socket
    if (this.#waits) this.#send()
  }

  #send(): void {
    this.#unsent = 0
    this.drain()
  }

  drain(): void {
    if (!this.#waits || this.#unsent >= this.#message.length) return
    const rest = this.#unsent === 0 ? this.#message : this.#message.subarray(this.#unsent)
    this.#unsent += Math.max(0, this.#socket?.write(rest) ?? 0)
  }

  data(bytes: Buffer): void {
    bytesIn += bytes.length
    try {
      const done = this.#reader.push(
        bytes,
        spec.work.kind === 'paced-stream' ? noteDelays : undefined,
      )
      if (!this.#sawFirst && this.#reader.payloadBytes > 0) {
        this.#sawFirst = true
        firstByte.add((performance.now() - this.#sentMs) * 1000)
      }
      if (done) this.#answered()
    } catch (error) {
      this.fail(String(error))
    }
  }

  #answered(): void {
    const { status, closes } = this.#reader
    if (payloadBytes < 0) payloadBytes = this.#reader.payloadBytes
    if (status !== 200) {
      this.fail(`status ${status}`)
      return
    }
    // A worker sends a late answer on the clock of streams, with more padding than a prompt one.
    const isPadded = spec.sealed?.shape === 'default'
    if (!isPadded && Math.abs(this.#reader.payloadBytes - payloadBytes) > payloadSlack) {
      this.fail(`${this.#reader.payloadBytes} bytes instead of ${payloadBytes}`)
      return
    }
    const now = performance.now()
    latency.add((now - this.#sentMs) * 1000)
    answered++
    pieces += this.#reader.pieces
    if (now <= endMs) answeredInTime++
    this.#waits = false
    if (closes || spec.churn) this.#close()
    if (rehearsed === undefined) this.begin()
    else if (rehearsed.push(this) === spec.connections) void beginCounted(rehearsed)
  }

  fail(why: string): void {
    if (!this.#waits) return
    this.#waits = false
    failures++
    firstFailure ??= why
    this.#close()
    if (failures > maxFailures) over()
    else setTimeout(() => this.begin(), 10)
  }

  closed(socket: Socket<Client>): void {
    if (socket !== this.#socket) return
    this.#socket = undefined
    this.fail('the connection was closed')
  }

  #close(): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.end()
  }

  #leave(): void {
    this.#close()
    if (--open === 0) over()
  }
}

/** Gateways put their own ids into answers, of slightly varying lengths. */
const payloadSlack = 2048

const handlers = {
  open: (socket: Socket<Client>) => socket.data.opened(socket),
  data: (socket: Socket<Client>, bytes: Buffer) => socket.data.data(bytes),
  drain: (socket: Socket<Client>) => socket.data.drain(),
  close: (socket: Socket<Client>) => socket.data.closed(socket),
  error: (socket: Socket<Client>) => void socket.terminate(),
}

open = spec.connections
for (let count = 0; count < spec.connections; count++) new Client().begin()
await Promise.race([allOver, Bun.sleep(spec.seconds * 1000 + settleMs)])
const wallSeconds = (performance.now() - startMs) / 1000
const { user, system } = process.cpuUsage()
const result: LoadResult = {
  requests: answered,
  failures,
  firstFailure,
  perSecond: answeredInTime / Math.min(spec.seconds, wallSeconds),
  latencyUs: spreadOf(latency),
  firstByteUs: spreadOf(firstByte),
  chunkDelayUs: spreadOf(chunkDelay),
  piecesPerAnswer: pieces / Math.max(1, answered),
  bytesIn,
  cpuSeconds: (user + system) / 1_000_000,
  wallSeconds,
}
console.log(JSON.stringify(result))
process.exit(0)

/** Discards earlier results when the measuring program says so. */
async function beginCounted(clients: readonly Client[]): Promise<void> {
  console.log('ready')
  for await (const _line of console) break
  rehearsed = undefined
  latency = new Histogram()
  firstByte = new Histogram()
  chunkDelay = new Histogram()
  begun = answered = answeredInTime = pieces = failures = 0
  firstFailure = undefined
  startMs = performance.now()
  endMs = startMs + spec.seconds * 1000
  for (const client of clients) client.begin()
}

function mayBegin(): boolean {
  if (rehearsed !== undefined) return true
  if (spec.requests !== undefined && begun >= spec.requests) return false
  return performance.now() < endMs
}

/** Stamps do not span two payload ranges where a server sends an event at once, as all here do. */
function noteDelays(bytes: Buffer, start: number, end: number): void {
  const now = clockUs()
  for (let at = bytes.indexOf(mark, start); at >= 0 && at < end; at = bytes.indexOf(mark, at + 1)) {
    const stamp = Number(bytes.toString('latin1', at + 2, at + 2 + stampDigits))
    if (Number.isFinite(stamp)) chunkDelay.add(Math.max(1, now - stamp))
  }
}

function formatMessage(): Buffer {
  const body = requestBody(spec.work, spec.modelPrefix)
  let head = `POST ${spec.path} HTTP/1.1\r\nhost: 127.0.0.1:${spec.port}\r\ncontent-length: ${body.length}\r\n`
  for (const [name, value] of Object.entries(spec.headers)) head += `${name}: ${value}\r\n`
  if (spec.churn) head += 'connection: close\r\n'
  return Buffer.from(`${head}\r\n${body}`, 'latin1')
}

/** Loaded only if requests are sealed, so that plain loads start sooner. */
async function createSealer(sealed: SealedSpec): Promise<() => Buffer> {
  const { createSealedMessages } = await import('./sealed-messages.ts')
  return createSealedMessages(spec, sealed)
}

function spreadOf(values: Histogram): Spread {
  return { p50: values.quantile(0.5), p99: values.quantile(0.99), most: values.most }
}
