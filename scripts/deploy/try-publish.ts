/** A dry run of publishing a packed npm package: everything that npm does before it would upload. */
import { run } from './locked-package.ts'

/** Returns one line about what would be published; throws if npm would refuse. */
export function tryPublish(archive: string): string {
  // Only the publishing CI can sign provenance, and no registry is contacted here.
  const flags = ['--dry-run', '--json', '--provenance=false', '--offline', '--tag', 'latest']
  const said = run(['npm', 'publish', ...flags, archive])
  return formatReport(JSON.parse(said))
}

type Report = {
  readonly id: string
  readonly size: number
  readonly entryCount: number
  readonly integrity: string
}

function formatReport(said: Report | Readonly<Record<string, Report>>): string {
  const report = 'id' in said ? (said as Report) : Object.values(said)[0]
  if (report === undefined) throw new Error('npm publish --dry-run reported no package')
  const { id, size, entryCount, integrity } = report
  return `would publish ${id}: ${entryCount} files, ${size} bytes, ${integrity}`
}
