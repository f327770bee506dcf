/** Connections to workers, kept for reuse. */
import type { Socket } from 'bun'
import { WorkerConnection } from './worker-connection.ts'

export type PoolLimits = {
  readonly connectTimeoutMs: number
  /** Idle connections to one worker. */
  readonly idle: number
  readonly idleMs: number
  /** A worker that has begun to answer and then says nothing for this long is given up. */
  readonly silentMs: number
}

export type PoolOptions = {
  readonly limits: PoolLimits
  readonly clock: () => number
  /** Certificate authorities for workers with https; the system's are used without. */
  readonly caPem: string | undefined
}

const tickMs = 100
const ticksPerTidying = 10

export class WorkerPool {
  readonly #options: PoolOptions
  readonly #idle = new Map<string, WorkerConnection[]>()
  readonly #all = new Set<WorkerConnection>()
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

  /** A free connection to an origin such as `https://10.0.0.7:8095`, at once if one is idle. */
  take(origin: string): WorkerConnection | Promise<WorkerConnection> {
    const idle = this.#idle.get(origin)
    for (;;) {
      const connection = idle?.pop()
      if (connection === undefined) return this.connect(origin)
      if (!connection.dead) return connection
    }
  }

  /** A new connection; rejects when there is none in time. */
  connect(origin: string): Promise<WorkerConnection> {
    const { promise, resolve, reject } = Promise.withResolvers<WorkerConnection>()
    const url = new URL(origin)
    const secure = url.protocol === 'https:'
    const timer = setTimeout(() => {
      reject(new Error('the connection was not made in time'))
      opened?.terminate()
    }, this.#options.limits.connectTimeoutMs)
    let opened: Socket<WorkerConnection> | undefined
    const ready = (socket: Socket<WorkerConnection>) => {
      clearTimeout(timer)
      if (this.#closed) {
        socket.terminate()
        reject(new Error('the gateway stops'))
        return
      }
      socket.data = new WorkerConnection(origin, socket, this)
      this.#all.add(socket.data)
      resolve(socket.data)
    }
    Bun.connect<WorkerConnection>({
      hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(url.port) || (secure ? 443 : 80),
      ...(secure ? { tls: this.#tls(url.hostname) } : {}),
      socket: {
        open(socket) {
          opened = socket
          if (!secure) ready(socket)
        },
        ...(secure
          ? {
              handshake(
                socket: Socket<WorkerConnection>,
                _success: boolean,
                problem: Error | null,
              ) {
                if (problem === null && socket.authorized) return ready(socket)
                socket.terminate()
                reject(new Error('the certificate of the worker is not trusted'))
              },
            }
          : {}),
        data: (socket, bytes) => socket.data?.data(bytes, this.#tick),
        drain: (socket) => socket.data?.drain(),
        close(socket) {
          clearTimeout(timer)
          socket.data?.closed()
          reject(new Error('the connection was closed'))
        },
        error: (socket) => void socket.terminate(),
        connectError(_socket, error) {
          clearTimeout(timer)
          reject(error)
        },
      },
    }).catch((error: unknown) => {
      clearTimeout(timer)
      reject(error)
    })
    return promise
  }

  released(connection: WorkerConnection): void {
    connection.usedTick = this.#tick
    const idle = this.#idle.get(connection.origin) ?? []
    if (idle.length < this.#options.limits.idle && !this.#closed) {
      idle.push(connection)
      this.#idle.set(connection.origin, idle)
    } else connection.abandon()
  }

  closed(connection: WorkerConnection): void {
    this.#all.delete(connection)
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
    for (const connection of this.#all) connection.abandon()
  }

  #tls(hostname: string): Bun.TLSOptions {
    const { caPem } = this.#options
    return {
      rejectUnauthorized: true,
      serverName: hostname,
      ...(caPem === undefined ? {} : { ca: caPem }),
    }
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
      const isFresh = (one: WorkerConnection) => !one.dead && one.usedTick >= oldTick
      for (const connection of idle) if (!isFresh(connection)) connection.abandon()
      const kept = idle.filter(isFresh)
      if (kept.length === 0) this.#idle.delete(origin)
      else this.#idle.set(origin, kept)
    }
  }
}
