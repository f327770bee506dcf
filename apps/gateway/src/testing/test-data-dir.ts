/** Fresh data directories for tests: one is created and kept, the others are copies of it. */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import gatewayPackage from '../../package.json'
import { migrations } from '../state/migrations/index.ts'
import { openDatabase } from '../state/open-database.ts'

const cache = join(import.meta.dir, '../../../../node_modules/.cache/privatemode-test-data')
let template: Promise<string> | undefined

/** The caller removes it. */
export async function freshDataDir(
  directory = mkdtempSync(join(tmpdir(), 'gateway-test-')),
): Promise<string> {
  template ??= findTemplate()
  cpSync(await template, directory, { recursive: true })
  return directory
}

/** Each schema and PGlite version has its own template. */
async function findTemplate(): Promise<string> {
  const facts = [gatewayPackage.dependencies['@electric-sql/pglite'], migrations]
  const digest = createHash('sha256').update(JSON.stringify(facts)).digest('hex')
  const path = join(cache, digest.slice(0, 16))
  if (existsSync(path)) return path
  mkdirSync(cache, { recursive: true })
  const directory = mkdtempSync(join(cache, 'new-'))
  const database = await openDatabase({ kind: 'embedded', directory })
  await database.close()
  try {
    renameSync(directory, path)
  } catch (error) {
    if (!existsSync(path)) throw error
    rmSync(directory, { recursive: true }) // another test was faster
  }
  return path
}
