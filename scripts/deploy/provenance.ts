/** Records how published files were built: an in-toto statement with a SLSA provenance predicate, and checksums. */
import { createHash } from 'node:crypto'
import { createReadStream, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { BuildFacts } from './build-facts.ts'
import { repository } from './locked-package.ts'
import { formatTime } from './oci/image.ts'

export type Subject = { readonly name: string; readonly sha256: string }

/** Every file under the folder, sorted, by its path in it. */
export async function hashFiles(folder: string): Promise<Subject[]> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort()
  return Promise.all(
    names.map(async (name) => ({ name, sha256: await hashFile(join(folder, name)) })),
  )
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array)
  return hash.digest('hex')
}

/** As `sha256sum --check` reads it. */
export function formatChecksums(subjects: readonly Subject[]): string {
  return subjects.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('')
}

export type BuildTools = Readonly<Record<string, string>>

/** Times are the commit's, so that a second build produces the same statement. */
export function formatProvenance(
  subjects: readonly Subject[],
  facts: BuildFacts,
  tools: BuildTools,
): string {
  const inputs = ['package-lock.json', relative(repository, debianList)]
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://privatemode.example/build/npm-run-release/v1',
        externalParameters: { revision: facts.revision, version: facts.version },
        internalParameters: { SOURCE_DATE_EPOCH: facts.epochSeconds },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: facts.revision.replace('-dirty', '') } },
          ...inputs.map((name) => ({
            name,
            digest: { sha256: createHash('sha256').update(readInput(name)).digest('hex') },
          })),
        ],
      },
      runDetails: {
        builder: { id: 'https://privatemode.example/build/own-machine', version: tools },
        metadata: { finishedOn: formatTime(facts.epochSeconds) },
      },
    },
  }
  return `${JSON.stringify(statement, null, 2)}\n`
}

const debianList = join(repository, 'deploy', 'images', 'debian-packages.json')
const readInput = (name: string) => readFileSync(join(repository, name))
