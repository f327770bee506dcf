/** The part of `test:containers` that runs inside the namespaces: starts the engines and tries one row after the other. */
import { writeFileSync } from 'node:fs'
import { Parts } from '../confined/parts.ts'
import { furnish } from '../confined/prepare-namespaces.ts'
import { formatRows, Rows } from '../confined/rows.ts'
import { tryCompose } from './compose.ts'
import { Engine, type EngineName } from './engine.ts'
import { tryImages } from './images.ts'

export type Settings = {
  readonly work: string
  readonly engines: readonly string[]
  /** The archive of an image that stands in for `postgres:18`. */
  readonly postgres: string
  readonly results: string
}

const settings = JSON.parse(process.env.PRIVATEMODE_CONTAINERS ?? '') as Settings
furnish(settings.work)
const parts = new Parts(settings.work)
const rows = new Rows(async () => '')
for (const name of settings.engines as EngineName[]) {
  let engine: Engine | undefined
  await rows.try(`${name} starts`, async () => {
    engine = await Engine.start(name, parts)
    const side = name === 'docker' ? 'Server' : 'Client'
    return engine.run('version', '--format', `{{.${side}.Version}}`)
  })
  if (engine === undefined) continue
  await tryImages(engine, rows, parts)
  if (name === 'docker') await tryCompose(engine, rows, parts, settings.postgres)
}
writeFileSync(settings.results, JSON.stringify(rows.all))
console.log(`\n${formatRows(rows.all)}`)
process.exit(rows.all.length > 0 && rows.all.every(({ result }) => result === 'yes') ? 0 : 1)
