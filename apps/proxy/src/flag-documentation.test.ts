import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { withFlagTables } from './flag-documentation.ts'
import { program } from './flag-table.ts'

const path = join(import.meta.dir, '../../../docs/proxy.md')

test('docs/proxy.md has every flag as the program has it', async () => {
  const document = await Bun.file(path).text()
  expect(withFlagTables(document)).toBe(document) // else run: npm run docs
  for (const name of Object.keys(program.flags)) expect(document).toContain(`\`--${name}\``)
})
