/** The files of a release in one folder, under the names they are downloaded by, with the checksums of all of them. */
import { linkSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatChecksums, hashFiles, type Subject } from './provenance.ts'

/** Subfolders of dist/ and what sets their archives apart: a chart and an npm package may both be `privatemode-proxy-0.1.0.tgz`. */
const folders = { bin: '', images: '', npm: 'npm-', charts: 'chart-' } as const

/** Links every built file into `dist/release`. Downloads land in one folder, so two files of one name are refused. */
export async function gatherRelease(dist: string): Promise<Subject[]> {
  const release = join(dist, 'release')
  mkdirSync(release)
  const from = new Map<string, string>()
  for (const [folder, prefix] of Object.entries(folders)) {
    for (const file of readdirSync(join(dist, folder), { withFileTypes: true })) {
      const name = `${prefix}${file.name}`
      const other = from.get(name)
      if (!file.isFile()) throw new Error(`dist/${folder}/${file.name} is not a file`)
      if (other !== undefined) throw new Error(`${other} and ${folder} both contain ${name}`)
      from.set(name, folder)
      linkSync(join(dist, folder, file.name), join(release, name))
    }
  }
  return hashFiles(release)
}

/** Writes SHA256SUMS over everything in the release, and returns its text for a signature. */
export async function writeChecksums(release: string): Promise<string> {
  const checksums = formatChecksums(await hashFiles(release))
  writeFileSync(join(release, 'SHA256SUMS'), checksums)
  return checksums
}
