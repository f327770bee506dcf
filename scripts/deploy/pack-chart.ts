/** Packs a chart as helm does, with the same bytes from the same commit; a linked chart inside becomes a real one. */
import { readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { repository } from './locked-package.ts'
import { type TarEntry, writeTar } from './oci/tar.ts'
import { trackedFiles } from './tracked-files.ts'

export type ChartFolder = 'chart' | 'backend'

/** Writes `{name}-{version}.tgz` into `outFolder` and returns its path. */
export function packChart(
  which: ChartFolder,
  outFolder: string,
  epochSeconds: number,
  checkout = repository,
): string {
  const root = realpathSync(checkout)
  const folder = `deploy/${which}`
  const text = readFileSync(join(root, folder, 'Chart.yaml'), 'utf8')
  const { name, version } = Bun.YAML.parse(text) as { name: string; version: string }
  const gzipped = new Uint8Array(gzipSync(writeTar(entriesOf(folder, name, root), epochSeconds)))
  gzipped[9] = 255 // RFC 1952: the system that compressed it is of no interest
  const path = join(outFolder, `${name}-${version}.tgz`)
  writeFileSync(path, gzipped)
  return path
}

function entriesOf(folder: string, target: string, root: string): TarEntry[] {
  return trackedFiles([folder], root)
    .filter((path) => basename(path) !== '.helmignore')
    .flatMap((path): TarEntry[] => {
      const name = `${target}/${path.slice(folder.length + 1)}`
      // A link to another chart, which git lists as one file.
      if (statSync(join(root, path)).isDirectory()) {
        return entriesOf(relative(root, realpathSync(join(root, path))), name, root)
      }
      const content = new Uint8Array(readFileSync(join(root, path)))
      return [{ kind: 'file', path: name, mode: 0o644, content }]
    })
}
