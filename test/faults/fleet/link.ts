/** A TCP relay between two parts: it inspects the traffic and can disturb it. */
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Chance } from '../random.ts'
import type { Ears } from './ears.ts'

export type Weather = {
  readonly delayMs?: number
  readonly jitterMs?: number
  readonly bytesPerSecond?: number
  /** Chance that a bit of a piece is flipped. */
  readonly flip?: number
  /** Incoming bytes are accepted and never forwarded. */
  readonly swallow?: boolean
  /** New connections are closed at once. */
  readonly refuse?: boolean
}

export type Address = { readonly host: string; readonly port: number }

export type LinkOptions = {
  readonly name: string
  readonly port: number
  /** Targets of connections, in turn; if one does not accept, the next is tried. */
  readonly targets: readonly Address[]
  readonly ears?: Ears | undefined
  readonly chance: Chance
}

type Pair = { readonly near: Socket; readonly far: Socket; halfOpen: boolean }

const connectMs = 1_000

export class Link {
  readonly options: LinkOptions
  readonly #pairs = new Set<Pair>()
  readonly #server: Server
  #weather: Weather = {}
  #turn = 0
  flipped = 0
  connections = 0

  constructor(options: LinkOptions) {
    this.options = options
    this.#server = createServer({ allowHalfOpen: true }, (near) => void this.#accept(near))
  }

  get port(): number {
    return this.options.port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  open(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#server.once('error', reject)
    this.#server.listen(this.options.port, '127.0.0.1', resolve)
    return promise
  }

  set(weather: Weather): void {
    this.#weather = weather
  }

  clear(): void {
    this.#weather = {}
  }

  /** Ends every connection, as a restarted router does. */
  cut(): number {
    const { size } = this.#pairs
    for (const { near, far } of this.#pairs) {
      near.destroy()
      far.destroy()
    }
    return size
  }

  /** Leaves every connection open and forwards nothing from now on, without notifying either side. */
  leaveHalfOpen(): number {
    for (const pair of this.#pairs) pair.halfOpen = true
    return this.#pairs.size
  }

  close(): void {
    this.cut()
    this.#server.close()
  }

  async #accept(near: Socket): Promise<void> {
    near.on('error', () => near.destroy())
    if (this.#weather.refuse === true) {
      near.destroy()
      return
    }
    near.pause()
    const far = await this.#reach()
    if (far === undefined || near.destroyed) {
      near.destroy()
      far?.destroy()
      return
    }
    this.connections++
    const pair: Pair = { near, far, halfOpen: false }
    this.#pairs.add(pair)
    this.#pump(pair, near, far, 'up')
    this.#pump(pair, far, near, 'down')
    near.resume()
  }

  async #reach(): Promise<Socket | undefined> {
    const { targets } = this.options
    const first = this.#turn++
    for (let index = 0; index < targets.length; index++) {
      const far = await dial(targets[(first + index) % targets.length]!)
      if (far !== undefined) return far
    }
    return undefined
  }

  #pump(pair: Pair, from: Socket, to: Socket, direction: string): void {
    const { ears, name } = this.options
    const hear = ears?.stream(`${name} ${direction}`)
    let queue: Promise<void> | undefined
    const pass = (piece: Buffer) => {
      if (pair.halfOpen || this.#weather.swallow === true || to.destroyed) return
      if (!to.write(piece)) {
        from.pause()
        to.once('drain', () => from.resume())
      }
    }
    from.on('data', (piece: Buffer) => {
      hear?.(piece)
      const waitMs = this.#waitMs(piece.length)
      const sent = this.#maybeFlip(piece)
      if (waitMs === 0 && queue === undefined) {
        pass(sent)
        return
      }
      from.pause()
      queue = (queue ?? Promise.resolve()).then(async () => {
        await Bun.sleep(waitMs)
        pass(sent)
        from.resume()
      })
    })
    from.on('end', () => {
      if (pair.halfOpen) return
      void (queue ?? Promise.resolve()).then(() => to.end())
    })
    from.on('error', () => from.destroy())
    from.on('close', () => {
      this.#pairs.delete(pair)
      if (!pair.halfOpen) void (queue ?? Promise.resolve()).then(() => to.end(() => to.destroy()))
    })
  }

  #waitMs(bytes: number): number {
    const { delayMs = 0, jitterMs = 0, bytesPerSecond } = this.#weather
    const slow = bytesPerSecond === undefined ? 0 : (bytes / bytesPerSecond) * 1000
    return delayMs + slow + (jitterMs === 0 ? 0 : this.options.chance.between(0, jitterMs))
  }

  #maybeFlip(piece: Buffer): Buffer {
    const { chance } = this.options
    if (chance.next() >= (this.#weather.flip ?? 0)) return piece
    this.flipped++
    const flipped = Buffer.from(piece)
    const at = chance.between(0, flipped.length - 1)
    flipped[at] = flipped[at]! ^ (1 << chance.between(0, 7))
    return flipped
  }
}

function dial({ host, port }: Address): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, allowHalfOpen: true }, () => {
      clearTimeout(timer)
      resolve(socket)
    })
    const fail = () => {
      clearTimeout(timer)
      resolve(undefined)
    }
    const timer = setTimeout(() => {
      socket.destroy()
      fail()
    }, connectMs)
    socket.on('error', fail)
  })
}
