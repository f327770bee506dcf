/**
 * A model server for measuring the programs in front of it: sends a fixed answer at once, over plain sockets.
 *
 * `bun bench/model-server.ts`. Answers are built once and written unchanged. Streams as fast as
 * they go are written in pieces of eight chunks, streams at a pace one chunk at a time.
 * Prints one line of JSON, then serves until it is ended.
 */
import { endWithParent } from '@privatemode/service/end-with-parent'
import type { Socket } from 'bun'
import {
  clockUs,
  models,
  pacedChunksPerSecond,
  stampDigits,
  stampMark,
  streamChunks,
} from './load/load-spec.ts'

endWithParent()

const chunksPerWrite = 8
const embeddingInputs = 256
const dimensions = 384
const nothing = Buffer.alloc(0)
const headEnd = Buffer.from('\r\n\r\n')
/** The model's name and the stream flag are within this many bytes of the beginning or the end. */
const lookedAtBytes = 2048

const small = whole({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: models.plain,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'x'.repeat(800) },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const embeddings = whole({
  object: 'list',
  model: models.plain,
  data: Array.from({ length: embeddingInputs }, (_, index) => ({
    object: 'embedding',
    index,
    embedding: Array.from({ length: dimensions }, (_, at) => Math.fround(Math.sin(at + index)) / 2),
  })),
  usage: { prompt_tokens: 1, total_tokens: 1 },
})
const cards = Object.values(models).map((id) => ({
  id,
  object: 'model',
  created: 1,
  owned_by: 'vllm',
  max_model_len: 16_000_000,
  root: id,
}))
const getAnswers: Readonly<Record<string, Buffer>> = {
  '/v1/models': whole({ object: 'list', data: cards }),
  '/version': whole({ version: '0.27.0' }),
  '/health': whole({ status: 'ok' }),
}
const notFound = Buffer.from('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
const streamHead = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n',
)
/** The counts that a stream carries, as vLLM sends them: none, at its end, or in every chunk. */
type Counts = 'none' | 'at-end' | 'always'

const streams: Readonly<Record<Counts, readonly Buffer[]>> = {
  none: fastStream('none'),
  'at-end': fastStream('at-end'),
  always: fastStream('always'),
}

class Connection {
  readonly #socket: Socket<Connection>
  #input: Buffer | undefined
  #begin = nothing
  #end = nothing
  #left = 0
  #path = ''
  #held: Buffer[] = []
  #closed = false

  constructor(socket: Socket<Connection>) {
    this.#socket = socket
  }

  /** One request at a time: clients here do not send the next before the answer. */
  data(bytes: Buffer): void {
    if (this.#left > 0) {
      this.#left -= bytes.length
      this.#look(bytes)
      if (this.#left <= 0) this.#answer()
      return
    }
    const input = this.#input === undefined ? bytes : Buffer.concat([this.#input, bytes])
    const end = input.indexOf(headEnd)
    if (end < 0) {
      this.#input = input
      return
    }
    this.#input = undefined
    const head = input.toString('latin1', 0, end)
    this.#path = head.slice(head.indexOf(' ') + 1, head.indexOf(' HTTP/'))
    if (head.startsWith('GET ')) {
      this.#write(getAnswers[this.#path] ?? notFound)
      return
    }
    if (/\r\nexpect: *100-continue/i.test(head)) {
      this.#write(Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'))
    }
    if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
      this.#readChunked(input)
      return
    }
    this.#left =
      Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0) - (input.length - end - 4)
    this.#look(input.subarray(end + 4))
    if (this.#left <= 0) this.#answer()
  }

  /** Some clients send chunks; the end is looked for, which is right for bodies of JSON. */
  #readChunked(input: Buffer): void {
    if (!input.subarray(-5).equals(Buffer.from('0\r\n\r\n'))) {
      this.#input = input
      return
    }
    this.#look(input)
    this.#answer()
  }

  /** The first piece may be the head alone, and the last one a few bytes. */
  #look(bytes: Buffer): void {
    const room = lookedAtBytes - this.#begin.length
    if (room > 0) this.#begin = Buffer.concat([this.#begin, bytes.subarray(0, room)])
    const before = bytes.length < lookedAtBytes ? this.#end : nothing
    this.#end = Buffer.concat([before, bytes.subarray(-lookedAtBytes)]).subarray(-lookedAtBytes)
  }

  closed(): void {
    this.#closed = true
  }

  drain(): void {
    while (!this.#closed && this.#held.length > 0) {
      const bytes = this.#held[0] as Buffer
      const taken = Math.max(0, this.#socket.write(bytes))
      if (taken < bytes.length) {
        this.#held[0] = bytes.subarray(taken)
        return
      }
      this.#held.shift()
    }
  }

  #answer(): void {
    const seen = this.#begin.toString('latin1') + this.#end.toString('latin1')
    this.#begin = nothing
    this.#end = nothing
    this.#left = 0
    if (this.#path.endsWith('/embeddings')) {
      this.#write(embeddings)
      return
    }
    if (!/"stream": ?true/.test(seen)) {
      this.#write(small)
      return
    }
    this.#write(streamHead)
    const isCounted = /"include_usage": ?true/.test(seen)
    const isAlways = isCounted && /"continuous_usage_stats": ?true/.test(seen)
    const counts = isAlways ? 'always' : isCounted ? 'at-end' : 'none'
    if (seen.includes(`"${models.paced}"`)) this.#streamAtPace(counts)
    else this.#streamFast(streams[counts])
  }

  #streamFast(groups: readonly Buffer[], at = 0): void {
    const group = groups[at]
    if (this.#closed || group === undefined) return
    this.#write(group)
    setImmediate(() => this.#streamFast(groups, at + 1))
  }

  #streamAtPace(counts: Counts): void {
    const startMs = performance.now()
    let sent = 0
    const next = () => {
      if (this.#closed) return
      const stamp = String(clockUs()).padStart(stampDigits, '0')
      sent++
      this.#write(chunk(eventOf(models.paced, `${stampMark}${stamp}`, counts, sent)))
      if (sent === streamChunks) {
        this.#write(endOf(models.paced, counts))
        return
      }
      const dueMs = startMs + (sent * 1000) / pacedChunksPerSecond
      setTimeout(next, Math.max(0, dueMs - performance.now()))
    }
    next()
  }

  #write(bytes: Buffer): void {
    if (this.#closed) return
    this.#held.push(bytes)
    if (this.#held.length === 1) this.drain()
  }
}

const listener = Bun.listen<Connection>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(socket) {
      socket.data = new Connection(socket)
    },
    data: (socket, bytes) => socket.data.data(bytes),
    drain: (socket) => socket.data.drain(),
    close: (socket) => socket.data.closed(),
  },
})
console.log(JSON.stringify({ port: listener.port, pid: process.pid }))

function whole(value: unknown): Buffer {
  const body = JSON.stringify(value)
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

function fastStream(counts: Counts): Buffer[] {
  const content = `${stampMark}${'0'.repeat(stampDigits)}`
  const chunks = Array.from({ length: streamChunks }, (_, at) =>
    chunk(eventOf(models.plain, content, counts, at + 1)),
  )
  const groups = Array.from({ length: streamChunks / chunksPerWrite }, (_, group) =>
    Buffer.concat(chunks.slice(group * chunksPerWrite, (group + 1) * chunksPerWrite)),
  )
  return [...groups, endOf(models.plain, counts)]
}

function eventOf(model: string, content: string, counts: Counts, sent: number): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }]
  return event({ model, choices, ...(counts === 'always' ? { usage: usageOf(sent) } : {}) })
}

function endOf(model: string, counts: Counts): Buffer {
  const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }]
  const usage = usageOf(streamChunks)
  const texts = [event({ model, choices, ...(counts === 'always' ? { usage } : {}) })]
  if (counts !== 'none') texts.push(event({ model, choices: [], usage }))
  return Buffer.concat([...[...texts, 'data: [DONE]\n\n'].map(chunk), Buffer.from('0\r\n\r\n')])
}

function event(fields: Readonly<Record<string, unknown>>): string {
  const same = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1 }
  return `data: ${JSON.stringify({ ...same, ...fields })}\n\n`
}

function usageOf(sent: number): Readonly<Record<string, number>> {
  return { prompt_tokens: 256, total_tokens: 256 + sent, completion_tokens: sent }
}

function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
}
