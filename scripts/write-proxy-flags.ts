/** Writes the flag tables into docs/proxy.md; a test fails when they are out of date. */
import { writeFileSync } from 'node:fs'
import { withFlagTables } from '../apps/proxy/src/flag-documentation.ts'

const path = new URL('../docs/proxy.md', import.meta.url).pathname
writeFileSync(path, withFlagTables(await Bun.file(path).text()))
