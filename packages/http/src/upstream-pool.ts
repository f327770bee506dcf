/** Connections to servers, kept for reuse. */
import type { Socket } from 'bun'
import { Arrivals } from './arrivals.ts'
import { openUpstream } from './open-upstream.ts'
import {
  type AnswerSink,
  type Unanswered,
  UpstreamConnection,
  type UpstreamConnectionOwner,
  type UpstreamMessage,
} from './upstream-connection.ts'

export type PoolLimits = {
  readonly connectTimeoutMs: number
  /** Idle connections per server. */
  readonly idle: number
  readonly idleMs: number
  /** A server that stalls for this long within an answer is given up. */
  readonly silentMs: number
  /** A request aborted after this long without any response puts its server's idle connections in doubt. */
  readonly unheardMs?: number
}

export type PoolOptions = {
  readonly limits: PoolLimits
  readonly clock: () => number
  /** Certificate authorities for https servers; by default the runtime's. */
  readonly caPem: string | undefined
  /** Returns the proxy for a server, if any. */
  readonly chooseProxy?: (url: URL) => string | undefined
}

/** A sink for a request sent by the pool, which is passed the connection used. */
export type PooledSink = AnswerSink & {
  /** Returns whether the request is still wanted. May be called again, with a new connection. */
  connected(connection: UpstreamConnection): boolean
}

const tickMs = 100
const ticksPerTidying = 10
/** A shorter silence proves nothing about a server that is computing. */
const defaultUnheardMs = 5_000

export class UpstreamPool implements UpstreamConnectionOwner {
  readonly #options: PoolOptions
  readonly #idle = new Map<string, UpstreamConnection[]>()
  readonly #all = new Set<UpstreamConnection>()
  readonly #arrivals = new Arrivals()
  readonly #timer: ReturnType<typeof setInterval>
  #tick = 0
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#sweep(), tickMs)
  }

  get connections(): number {
    return this.#all.size
  }

  get tick(): number {
    return this.#tick
  }

  /** A free connection to an origin such as `https://10.0.0.7:8095`, synchronously if one is idle. */
  take(origin: string): UpstreamConnection | Promise<UpstreamConnection> {
    const idle = this.#idle.get(origin)
    for (;;) {
      const connection = idle?.pop()
      if (connection === undefined) return this.connect(origin)
      if (connection.dead) continue
      connection.takenTick = this.#tick
      return connection
    }
  }

  /**
   * Sends a request over a free connection. If the server closes it at that moment, and the whole
   * body is in the message, the request is sent once more over a new one.
   */
  send(origin: string, message: UpstreamMessage, sink: PooledSink, deadlineMs: number): void {
    this.#sendOver(this.take(origin), { message, sink, deadlineMs })
  }

  stale({ origin }: UpstreamConnection, unanswered: Unanswered): boolean {
    const { sink } = unanswered
    if (!isPooled(sink) || this.#closed) return false
    this.#sendOver(this.connect(origin), { ...unanswered, sink })
    return true
  }

  #sendOver(
    taken: UpstreamConnection | Promise<UpstreamConnection>,
    { message, sink, deadlineMs }: Unanswered & { readonly sink: PooledSink },
  ): void {
    const over = (connection: UpstreamConnection) => {
      if (sink.connected(connection)) connection.send(message, sink, deadlineMs)
      else connection.abandon()
    }
    if (taken instanceof Promise) taken.then(over, (cause) => sink.fail('unreachable', cause))
    else over(taken)
  }

  /** A new connection; rejects if it cannot be established in time. */
  async connect(origin: string): Promise<UpstreamConnection> {
    const url = new URL(origin)
    const proxy = this.#options.chooseProxy?.(url)
    const socket: Socket<UpstreamConnection | undefined> = await openUpstream(
      {
        url,
        caPem: this.#options.caPem,
        proxy: proxy === undefined ? undefined : new URL(proxy),
        timeoutMs: this.#options.limits.connectTimeoutMs,
      },
      {
        data: (self, bytes) => {
          if (self.data !== undefined) this.#arrivals.add(self.data, bytes)
        },
        drain: (self) => self.data?.drain(),
        close: (self) => {
          this.#arrivals.deliver()
          self.data?.closed()
        },
      },
    )
    if (this.#closed) {
      socket.terminate()
      throw new Error('the pool is closed')
    }
    const connection = new UpstreamConnection(origin, socket, this)
    connection.takenTick = this.#tick
    socket.data = connection
    this.#all.add(connection)
    return connection
  }

  released(connection: UpstreamConnection): void {
    connection.usedTick = this.#tick
    const idle = this.#idle.get(connection.origin) ?? []
    if (idle.length < this.#options.limits.idle && !this.#closed) {
      idle.push(connection)
      this.#idle.set(connection.origin, idle)
    } else connection.abandon()
  }

  /**
   * Connections can die silently, and then all that were idle meanwhile are dead, too: without this
   * check, each would cost another request its whole timeout.
   */
  unheard({ origin, takenTick }: UpstreamConnection): void {
    const { unheardMs = defaultUnheardMs } = this.#options.limits
    if (this.#tick - takenTick < unheardMs / tickMs) return
    const idle = this.#idle.get(origin) ?? []
    const isHeard = (one: UpstreamConnection) => one.usedTick > takenTick
    this.#idle.set(origin, idle.filter(isHeard))
    for (const connection of idle) if (!isHeard(connection)) connection.abandon()
  }

  /** Fails the requests on which a server has been silent for this long; returns how many. */
  giveUp(origin: string, silentMs: number): number {
    let count = 0
    for (const connection of this.#all) {
      if (connection.origin !== origin) continue
      if (connection.giveUp(this.#tick, silentMs / tickMs)) count++
    }
    return count
  }

  closed(connection: UpstreamConnection): void {
    this.#all.delete(connection)
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
    for (const connection of this.#all) connection.abandon()
  }

  #sweep(): void {
    this.#tick++
    const nowMs = this.#options.clock()
    const silentTicks = this.#options.limits.silentMs / tickMs
    for (const connection of this.#all) connection.sweep(nowMs, this.#tick, silentTicks)
    if (this.#tick % ticksPerTidying === 0) this.#tidy()
  }

  #tidy(): void {
    const oldTick = this.#tick - this.#options.limits.idleMs / tickMs
    for (const [origin, idle] of this.#idle) {
      const isFresh = (one: UpstreamConnection) => !one.dead && one.usedTick >= oldTick
      for (const connection of idle) if (!isFresh(connection)) connection.abandon()
      const kept = idle.filter(isFresh)
      if (kept.length === 0) this.#idle.delete(origin)
      else this.#idle.set(origin, kept)
    }
  }
}

const isPooled = (sink: AnswerSink): sink is PooledSink => 'connected' in sink
