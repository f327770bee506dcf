/** The licences of third-party code in the pages. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `inputs` are the files used by the bundler, relative to the repository. */
export function formatLicences(repository: string, inputs: readonly string[]): string {
  const names = inputs.flatMap((path) => {
    const name = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]
    return name === undefined ? [] : [name]
  })
  const parts = [...new Set(names)].sort().map((name) => formatLicence(repository, name))
  const own = `Privatemode\n\n${readFileSync(join(repository, 'LICENSE'), 'utf8').trim()}`
  return `${[own, ...parts].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

function formatLicence(repository: string, name: string): string {
  const folder = join(repository, 'node_modules', name)
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    version: string
    license: string
  }
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
  const text = file === undefined ? '' : `\n\n${readFileSync(join(folder, file), 'utf8').trim()}`
  return `${name} ${version} (${license})${text}`
}
