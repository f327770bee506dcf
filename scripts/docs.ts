/** `npm run docs`: writes the documents that are generated from code. With --check it only compares. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { adminOpenApi } from '@privatemode/gateway'
import { withFlagTables } from '../apps/proxy/src/flag-documentation.ts'
import { formatBadges } from './badges.ts'
import { findNamedTests, formatTable } from './compatibility/table.ts'
import { formatFlags } from './flags-document.ts'
import { formatMetrics } from './metrics-document.ts'
import { openApiDocument } from './openapi/document.ts'
import { formatPackages } from './packages-drawing.ts'
import { reliabilityDocuments } from './reliability/document.ts'
import { formatReference } from './sdk-reference/reference.ts'
import { toolLocks } from './supply/check-lock.ts'
import { formatLicences } from './supply/licences.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const readJson = (path: string) => JSON.parse(readFileSync(root + path, 'utf8'))
const isCheck = process.argv.includes('--check')
const documents = {
  'docs/badges.svg': formatBadges(root),
  'docs/admin-openapi.json': `${JSON.stringify(adminOpenApi(), null, 2)}\n`,
  'docs/openapi.json': `${JSON.stringify(openApiDocument(), null, 2)}\n`,
  'docs/compatibility.md': formatTable(await findNamedTests(root)),
  'docs/licences.md': formatLicences(readJson('package-lock.json'), toolLocks.map(readJson)),
  'docs/sdk-reference.md': await formatReference(),
  'docs/proxy.md': withFlagTables(readFileSync(`${root}docs/proxy.md`, 'utf8')),
  'docs/flags.md': formatFlags(),
  'docs/metrics.md': formatMetrics(),
  'docs/packages.md': formatPackages(root),
  ...reliabilityDocuments(root),
}
let stale = 0
for (const [path, text] of Object.entries(documents)) {
  const file = Bun.file(root + path)
  const isCurrent = (await file.exists()) && (await file.text()) === text
  if (isCurrent) continue
  stale++
  console.log(isCheck ? `${path} is out of date: run npm run docs` : `wrote ${path}`)
  if (!isCheck) await Bun.write(root + path, text)
}
process.exitCode = isCheck && stale > 0 ? 1 : 0
