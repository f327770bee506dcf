/** Fresh data directories for tests: one is made with care, the others are copies of it. */
import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../state/open-database.ts'

let template: Promise<string> | undefined

/** The caller removes it. */
export async function freshDataDir(
  directory = mkdtempSync(join(tmpdir(), 'gateway-test-')),
): Promise<string> {
  template ??= makeTemplate()
  cpSync(await template, directory, { recursive: true })
  return directory
}

async function makeTemplate(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-template-'))
  const database = await openDatabase({ kind: 'embedded', directory })
  await database.close()
  return directory
}
