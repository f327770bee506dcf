/** HTTP spoken by hand over TCP or TLS: for what no client would send. */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Entrance } from './entrance.ts'

export class RawSocket {
  readonly #socket: Socket
  #text = ''
  #isClosed = false
  #wake: () => void = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => {
      this.#text += chunk.toString('latin1')
      this.#wake()
    })
    const closed = () => {
      this.#isClosed = true
      this.#wake()
    }
    socket.on('close', closed)
    socket.on('error', closed)
  }

  static async connect({ target }: Entrance): Promise<RawSocket> {
    const { hostname, port } = new URL(target.url)
    const where = { host: hostname, port: Number(port) }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const socket =
      target.ca === undefined
        ? connectTcp(where, resolve)
        : connectTls({ ...where, ca: target.ca, servername: 'localhost' }, resolve)
    socket.once('error', reject)
    await promise
    return new RawSocket(socket)
  }

  /** Everything that came since the last `forget`. */
  get text(): string {
    return this.#text
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  send(text: string): void {
    this.#socket.write(text)
  }

  forget(): void {
    this.#text = ''
  }

  /** Waits until what came matches, or the other side closed. */
  async until(pattern: RegExp, limitMs = 20_000): Promise<string> {
    const deadline = Date.now() + limitMs
    while (!pattern.test(this.#text) && !this.#isClosed) {
      if (Date.now() > deadline) throw new Error(`nothing like ${pattern} in: ${this.#text}`)
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      const timer = setTimeout(resolve, limitMs)
      await promise
      clearTimeout(timer)
    }
    return this.#text
  }

  close(): void {
    this.#socket.destroy()
  }
}

/** The head of a POST with a JSON body of so many bytes. */
export function postHead(
  path: string,
  length: number,
  headers: Readonly<Record<string, string>> = {},
): string {
  const lines = [
    `POST ${path} HTTP/1.1`,
    'host: localhost',
    'content-type: application/json',
    `content-length: ${length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}
