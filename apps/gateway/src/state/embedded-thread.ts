/** The thread of the embedded database: it runs PGlite, whose queries block a thread until they end. */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite, type Transaction, types } from '@electric-sql/pglite'
import { arrayTypes } from './binary-array.ts'
import type { Row } from './database.ts'
import { type Asked, describeFailure, type Reply, type ThreadData } from './embedded-messages.ts'
import { stopWhenBroken } from './stop-when-broken.ts'

type Open = {
  readonly statements: Transaction
  end(kind: 'commit' | 'rollback'): Promise<void>
}

const transactions = new Map<number, Open>()
const { directory, module } = workerData as ThreadData
const pglite = await PGlite.create(directory, {
  pgliteWasmModule: module,
  relaxedDurability: false,
  parsers: { [types.INT8]: Number, [types.NUMERIC]: Number },
})
stopWhenBroken(pglite, (error) => reply({ kind: 'broken', failure: describeFailure(error) }))
/** The bytes of an array are its binary form, and sent as such, although PGlite's types only know text. */
const serializers = Object.fromEntries(
  arrayTypes.map((type) => {
    const format = pglite.serializers[type] ?? String
    return [
      type,
      (value: unknown) => (value instanceof Uint8Array ? value : format(value)) as string,
    ]
  }),
)
parentPort?.on('message', (asked: Asked) => void answer(asked))
reply({ kind: 'opened' })

function reply(message: Reply): void {
  parentPort?.postMessage(message)
}

async function answer(asked: Asked): Promise<void> {
  const { id } = asked
  try {
    reply({ kind: 'done', id, rows: await run(asked) })
  } catch (error) {
    reply({ kind: 'failed', id, failure: describeFailure(error) })
  }
}

async function run(asked: Asked): Promise<readonly Row[]> {
  switch (asked.kind) {
    case 'query': {
      const { sql, values, transaction } = asked
      return (await statementsOf(transaction).query<Row>(sql, [...values], { serializers })).rows
    }
    case 'script':
      await statementsOf(asked.transaction).exec(asked.sql)
      return []
    case 'begin':
      transactions.set(asked.id, await begin())
      return []
    case 'commit':
    case 'rollback': {
      const open = transactions.get(asked.transaction)
      transactions.delete(asked.transaction)
      await open?.end(asked.kind)
      return []
    }
    case 'close':
      await pglite.close()
      return []
  }
}

function statementsOf(transaction: number | undefined): Pick<PGlite, 'query' | 'exec'> {
  if (transaction === undefined) return pglite
  const open = transactions.get(transaction)
  if (open === undefined) throw new Error('the transaction has ended')
  return open.statements
}

/** Other queries wait until it has ended. */
function begin(): Promise<Open> {
  return new Promise((begun, refused) => {
    const { promise: ending, resolve } = Promise.withResolvers<'commit' | 'rollback'>()
    const over = pglite.transaction(async (statements) => {
      const end = (kind: 'commit' | 'rollback') => {
        resolve(kind)
        return over
      }
      begun({ statements, end })
      if ((await ending) === 'rollback') await statements.rollback()
    })
    over.catch(refused)
  })
}
