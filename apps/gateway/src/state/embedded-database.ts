/**
 * The embedded default: PGlite in a directory, on a thread of its own.
 *
 * A query blocks its thread until it ends, and booking usage takes milliseconds: on the gateway's
 * own thread, requests would wait for it. A thread rather than a process: it cannot outlive a
 * gateway that is killed, so the directory's lock always covers whoever writes there.
 *
 * An acknowledged write survives `kill -9`: the write-ahead log is written before a commit returns.
 * PGlite cannot flush a disk's cache, so a power failure may lose the last writes; operators who
 * need more run PostgreSQL.
 */
import { existsSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { GatewayError } from '../gateway-error.ts'
import { closeToOthers } from './close-to-others.ts'
import { lockDataDirectory } from './data-lock.ts'
import type { Database, OnLost, Queries, Row } from './database.ts'
import {
  type Ask,
  describeFailure,
  type Failure,
  type Reply,
  type ThreadData,
} from './embedded-messages.ts'

const program = new URL('./embedded-thread.ts', import.meta.url)
let compiled: Promise<WebAssembly.Module> | undefined

/** Compiled once: threads share the code, and its compilation takes a third of a second. */
async function compilePglite(): Promise<WebAssembly.Module> {
  const script = import.meta.resolve('@electric-sql/pglite')
  return WebAssembly.compile(await Bun.file(new URL('pglite.wasm', script)).arrayBuffer())
}

/** `threadProgram` replaces the program of the thread; tests have one that fails. */
export async function openEmbeddedDatabase(
  directory: string,
  onLost: OnLost = () => undefined,
  threadProgram = program,
): Promise<Database> {
  closeToOthers(directory)
  const lock = lockDataDirectory(directory)
  try {
    const path = join(directory, 'pglite')
    if (!existsSync(join(path, 'PG_VERSION'))) await initialize(path, threadProgram)
    const thread = await startThread(path, onLost, threadProgram)
    // PGlite sets its own mode on a few files it creates at start and end, ignoring the umask.
    closeToOthers(directory)
    return {
      ...queriesOf(thread),
      transaction: (work) => inTransaction(thread, work),
      close: async () => {
        await thread.close()
        closeToOthers(directory)
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw new GatewayError('database_failed', `${reasonOf(error)} (${roomIn(directory)})`, {
      cause: error,
    })
  }
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : 'unknown failure')

/** PGlite does not say why it cannot open; a full disk is the usual reason. */
function roomIn(directory: string): string {
  const { bavail, bsize } = statfsSync(directory)
  return `${Math.floor((bavail * bsize) / 1024 ** 2)} MiB free in ${directory}`
}

/**
 * Creates the database on a thread that ends: the one that serves would keep the memory that this
 * takes, about 400 MiB, for as long as the gateway runs.
 */
async function initialize(directory: string, threadProgram: URL): Promise<void> {
  const thread = await startThread(directory, () => undefined, threadProgram)
  await thread.close()
}

async function startThread(
  directory: string,
  onLost: OnLost,
  threadProgram: URL,
): Promise<DatabaseThread> {
  compiled ??= compilePglite()
  const workerData: ThreadData = { directory, module: await compiled }
  const thread = new DatabaseThread(new Worker(threadProgram, { workerData }), onLost)
  try {
    await thread.opened
    return thread
  } catch (error) {
    await thread.close()
    throw error
  }
}

async function inTransaction<T>(
  thread: DatabaseThread,
  work: (queries: Queries) => Promise<T>,
): Promise<T> {
  const { id: transaction } = await thread.ask({ kind: 'begin' })
  try {
    const result = await work(queriesOf(thread, transaction))
    await thread.ask({ kind: 'commit', transaction })
    return result
  } catch (error) {
    // It has already ended if the commit failed.
    await thread.ask({ kind: 'rollback', transaction })
    throw error
  }
}

function queriesOf(thread: DatabaseThread, transaction?: number): Queries {
  return {
    async query<R extends Row>(sql: string, values: readonly unknown[] = []) {
      const given = values.map(withoutPool)
      const { rows } = await thread.ask({ kind: 'query', sql, values: given, transaction })
      return rows as R[]
    },
    script: async (sql) => {
      await thread.ask({ kind: 'script', sql, transaction })
    },
  }
}

/** A copy of a short `Buffer` would be one of the whole pool that it is a part of. */
function withoutPool(value: unknown): unknown {
  return value instanceof Uint8Array ? new Uint8Array(value) : value
}

type Waiting = {
  readonly resolve: (reply: Reply & { kind: 'done' }) => void
  readonly reject: (error: Error) => void
}

class DatabaseThread {
  /** Rejects if the database cannot be opened. */
  readonly opened: Promise<void>
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #failure: GatewayError | undefined

  constructor(worker: Worker, onLost: OnLost) {
    const { promise: opened, resolve, reject } = Promise.withResolvers<void>()
    let lose: OnLost = reject
    const fail = (reason: string) => {
      const failure = this.#fail(`the embedded database failed: ${reason}`)
      if (failure !== undefined) lose(failure)
    }
    this.opened = opened
    this.#worker = worker
    worker.on('message', (reply: Reply) => {
      switch (reply.kind) {
        case 'opened':
          lose = onLost
          resolve()
          break
        case 'done':
        case 'failed':
          this.#settle(reply)
          break
        case 'broken':
          fail(reply.failure.message)
      }
    })
    worker.on('error', (error) => fail(describeFailure(error).message))
    worker.on('exit', () => fail('its thread has ended'))
  }

  ask(ask: Ask): Promise<Reply & { kind: 'done' }> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#worker.postMessage({ ...ask, id })
      this.#waiting.set(id, { resolve, reject })
    })
  }

  /** Also if the thread has failed. */
  async close(): Promise<void> {
    if (this.#failure === undefined) await this.ask({ kind: 'close' })
    this.#fail('the embedded database is closed')
    await this.#worker.terminate()
  }

  /** Whatever is or will be asked fails from now on; undefined if it already does. */
  #fail(message: string): GatewayError | undefined {
    if (this.#failure !== undefined) return undefined
    this.#failure = new GatewayError('database_failed', message)
    for (const { reject } of this.#waiting.values()) reject(this.#failure)
    this.#waiting.clear()
    return this.#failure
  }

  #settle(reply: Reply & { kind: 'done' | 'failed' }): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if (reply.kind === 'done') waiting?.resolve(reply)
    else waiting?.reject(new EmbeddedError(reply.failure))
  }
}

/** An error of the database, with its SQLSTATE as `code`. */
class EmbeddedError extends Error {
  override readonly name: string
  readonly code: string | undefined

  constructor({ name, message, code }: Failure) {
    super(message)
    this.name = name
    this.code = code
  }
}
