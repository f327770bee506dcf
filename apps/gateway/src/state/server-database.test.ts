/** The database behind a connection that dies silently. */

import { afterAll, beforeAll, expect } from 'bun:test'
import { connect, createServer, type Server } from 'node:net'
import { freePort, unlessMissing } from '@privatemode/service/testing'
import { missingPostgres, type PostgresServer, startPostgres } from '../testing/postgres-server.ts'
import { openServerDatabase } from './server-database.ts'

const noPostgres = missingPostgres()

let postgres: PostgresServer
let relay: Server
let url: string
/** Connections created before this number are silently no longer served. */
let dead = 0
let made = 0

beforeAll(async () => {
  if (noPostgres !== undefined) return
  postgres = await startPostgres()
  const port = freePort()
  relay = createServer((near) => {
    const index = made++
    const far = connect(Number(new URL(postgres.url).port), '127.0.0.1')
    near.on('data', (bytes) => index >= dead && far.write(bytes))
    far.on('data', (bytes) => index >= dead && near.write(bytes))
    near.on('close', () => far.destroy()).on('error', () => {})
    far.on('close', () => near.destroy()).on('error', () => {})
  })
  await new Promise<void>((resolve) => void relay.listen(port, '127.0.0.1', resolve))
  url = postgres.url.replace(/:\d+\//, `:${port}/`)
})

afterAll(async () => {
  if (noPostgres !== undefined) return
  relay.close()
  await postgres.stop()
})

unlessMissing(noPostgres).test(
  'a connection that died silently is dropped and replaced',
  async () => {
    const database = await openServerDatabase(url, 2, 2_000)
    const one = () => database.query('select 1 as one')
    await Promise.all([one(), one()])
    dead = made
    const lost = await Promise.allSettled([
      one(),
      one(),
      database.transaction((work) => work.query('select 1')),
    ])
    expect(lost.map(({ status }) => status)).toContain('rejected')
    expect(await one()).toEqual([{ one: 1 }])
    expect(await database.transaction((work) => work.query('select 2 as two'))).toEqual([
      { two: 2 },
    ])
    await database.close()
  },
)
