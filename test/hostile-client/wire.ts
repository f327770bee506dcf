/** Raw bytes to an endpoint and back; light enough for thousands of connections. */
import type { Socket } from 'bun'
import type { Target } from './target.ts'

export type RawAnswer = {
  /** Status lines received: more than one if more than one request was parsed. */
  readonly statuses: readonly number[]
  readonly body: string
  readonly closed: boolean
}

export class Wire {
  #socket: Socket<undefined> | undefined
  #waiting: Uint8Array[] = []
  #text = ''
  #isClosed = false
  #wake: () => void = () => {}

  static async open({ port, ca }: Pick<Target, 'port' | 'ca'>): Promise<Wire> {
    const wire = new Wire()
    wire.#socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      ...(ca === undefined ? {} : { tls: { ca, serverName: 'localhost' } }),
      socket: {
        data: (_socket, bytes) => {
          // Answers to floods are not kept: a few bytes show what happened.
          if (wire.#text.length < 1_000_000) wire.#text += bytes.toString('latin1')
          wire.#wake()
        },
        drain: () => wire.#flush(),
        close: () => wire.#close(),
        error: () => wire.#close(),
      },
    })
    return wire
  }

  get text(): string {
    return this.#text
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  send(bytes: string | Uint8Array): void {
    if (this.#isClosed) return
    this.#waiting.push(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    this.#flush()
  }

  pause(): void {
    this.#socket?.pause()
  }

  close(): void {
    this.#socket?.terminate()
  }

  /** Waits until `enough`, the other side's end, or the limit. */
  async until(enough: (text: string) => boolean, limitMs: number): Promise<void> {
    const deadline = Date.now() + limitMs
    while (!this.#isClosed && !enough(this.#text) && Date.now() < deadline) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        setTimeout(resolve, Math.max(1, deadline - Date.now()))
      })
    }
  }

  /** The first complete answer, and anything that arrives shortly after it. */
  async answer(limitMs = 15_000): Promise<RawAnswer> {
    await this.until(isWhole, limitMs)
    if (!this.#isClosed) await this.until(() => false, 50)
    const statuses = [...this.#text.matchAll(/^HTTP\/1\.[01] (\d{3})/gm)].map((m) => Number(m[1]))
    const body = this.#text.slice(this.#text.indexOf('\r\n\r\n') + 4)
    return { statuses: statuses.filter((status) => status !== 100), body, closed: this.#isClosed }
  }

  #flush(): void {
    while (this.#waiting.length > 0) {
      const [bytes] = this.#waiting
      if (bytes === undefined) return
      const taken = Math.max(0, this.#socket?.write(bytes) ?? 0)
      if (taken < bytes.length) {
        this.#waiting[0] = bytes.subarray(taken)
        return
      }
      this.#waiting.shift()
    }
  }

  #close(): void {
    this.#isClosed = true
    this.#wake()
  }
}

/** Whether a status, its head and as many bytes as the head declares have arrived. */
function isWhole(text: string): boolean {
  const start = text.indexOf('HTTP/1.1 100') === 0 ? text.indexOf('\r\n\r\n') + 4 : 0
  const end = text.indexOf('\r\n\r\n', start)
  if (end < 0) return false
  const length = /^content-length: (\d+)/im.exec(text.slice(start, end))?.[1]
  return length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= end + 4 + Number(length)
}
