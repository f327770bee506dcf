/** Writes the tables of flags into docs/proxy.md; a test says when they are out of date. */
import { writeFileSync } from 'node:fs'
import { withFlagTables } from '../apps/proxy/src/flag-documentation.ts'

const path = new URL('../docs/proxy.md', import.meta.url).pathname
writeFileSync(path, withFlagTables(await Bun.file(path).text()))
