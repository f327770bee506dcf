/** Creates a database in DATA_DIR, and prints the process's memory in MiB for each line that it reads. */
import { openEmbeddedDatabase } from '../embedded-database.ts'

const database = await openEmbeddedDatabase(process.env.DATA_DIR ?? '')
console.log('open')
for await (const _ of console) console.log(Math.round(process.memoryUsage().rss / 1024 ** 2))
await database.close()
