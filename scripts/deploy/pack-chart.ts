/** Packs a chart as helm does, with the same bytes from the same commit; a linked chart inside becomes a real one. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { repository } from './locked-package.ts'
import { type TarEntry, writeTar } from './oci/tar.ts'

export type ChartFolder = 'chart' | 'backend'

/** Writes `{name}-{version}.tgz` into `outFolder` and returns its path. */
export function packChart(which: ChartFolder, outFolder: string, epochSeconds: number): string {
  const folder = join(repository, 'deploy', which)
  const { name, version } = Bun.YAML.parse(readFileSync(join(folder, 'Chart.yaml'), 'utf8')) as {
    name: string
    version: string
  }
  const gzipped = new Uint8Array(gzipSync(writeTar(entriesOf(folder, name), epochSeconds)))
  gzipped[9] = 255 // RFC 1952: the system that compressed it is of no interest
  const path = join(outFolder, `${name}-${version}.tgz`)
  writeFileSync(path, gzipped)
  return path
}

function entriesOf(folder: string, target: string): TarEntry[] {
  return readdirSync(folder)
    .filter((name) => name !== '.helmignore')
    .flatMap((name): TarEntry[] => {
      const path = join(folder, name)
      if (statSync(path).isDirectory()) return entriesOf(path, `${target}/${name}`)
      const content = new Uint8Array(readFileSync(path))
      return [{ kind: 'file', path: `${target}/${name}`, mode: 0o644, content }]
    })
}
