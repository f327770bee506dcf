/** Writes rows and prints each count once it is acknowledged, until someone kills it. */
import { openDatabase } from '../open-database.ts'

const database = await openDatabase({ kind: 'embedded', directory: process.env.DATA_DIR ?? '' })
for (let count = 1; ; count++) {
  await database.query(`insert into accounts (id, name) values ($1, 'written')`, [`acct_${count}`])
  process.stdout.write(`${count}\n`)
}
