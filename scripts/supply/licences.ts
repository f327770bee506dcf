/** The list of licences, docs/licences.md, generated from the lock files. */
import { type Lock, nameOf, strangers, toolsLock } from './check-lock.ts'

export function formatLicences(main: Lock, tools: readonly Lock[]): string {
  const both = [...strangers(main), ...tools.flatMap((lock) => strangers(toolsLock(lock)))]
  const runTime = both.filter(([, { dev }]) => dev !== true)
  const development = both.filter(([, { dev }]) => dev === true)
  return [
    '# Licences',
    '',
    'The licence of every package that is installed here. A test refuses a package whose licence is not on the short list in',
    '`scripts/supply/check-lock.ts`. Privatemode itself is under the [Apache License 2.0](../LICENSE). `npm run docs` generates this page.',
    '',
    `## Run time: ${runTime.length} packages`,
    '',
    'What programs need, for all platforms, and what these packages name as their own dependencies. Images carry fewer, and',
    'an SBOM that names each; they also carry the C library of Debian with its copyright file.',
    '',
    ...byLicence(runTime),
    `## Development and tests: ${development.length} packages`,
    '',
    ...byLicence(development),
  ].join('\n')
}

function byLicence(packages: ReturnType<typeof strangers>): string[] {
  const groups = new Map<string, Set<string>>()
  for (const [path, { license = '(none)', version, name }] of packages) {
    const group = groups.get(license) ?? new Set()
    groups.set(license, group.add(`${name ?? nameOf(path)} ${version}`))
  }
  return [...groups]
    .sort(([a, some], [b, others]) => others.size - some.size || (a < b ? -1 : 1))
    .flatMap(([licence, names]) => {
      const shown = [...names].sort((a, b) => (a < b ? -1 : 1)).join(', ')
      return [`**${licence}** (${names.size}): ${shown}`, '']
    })
}
