/** Draws which package imports which, from the sources; an import cycle is an error. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Before HTTP and inference became separate packages; kept for comparison. */
const before = `graph TD
  gateway --> protocol & service
  portal --> protocol & sdk
  proxy --> protocol & sdk & service
  stack --> attestation & portal & service & worker
  verify --> attestation & sdk
  worker --> attestation & protocol & service
  protocol --> attestation
  sdk --> attestation & protocol
  service --> protocol`

export function formatPackages(root: string): string {
  const imports = readImports(root)
  const edges = [...imports]
    .filter(([, names]) => names.length > 0)
    .map(([name, names]) => `  ${name} --> ${names.join(' & ')}`)
  const floors = Map.groupBy(imports.keys(), (name) => floorOf(name, imports))
  const rows = [...floors]
    .toSorted(([a], [b]) => b - a)
    .map(([floor, names]) => `| ${floor} | ${names.join(', ')} |`)
  return `# Packages and their imports

Which package may import which. \`npm run docs\` generates this page from the sources, without tests. An arrow points to what is imported;
every arrow goes down at least one layer, and \`biome.json\` refuses any other. \`CONTRIBUTING.md\` describes each package.

| layer | packages and programs |
|---|---|
${rows.join('\n')}

\`\`\`mermaid
graph TD
${edges.join('\n')}
\`\`\`

## Before

HTTP was part of \`service\`, and the engines part of the worker, which had 14,500 lines; it now has at most 5,000, as a test
ensures.

\`\`\`mermaid
${before}
\`\`\`
`
}

/** What each package and program imports from the others, without tests. */
export function readImports(root: string): Map<string, string[]> {
  const imports = new Map<string, string[]>()
  for (const parent of ['apps', 'packages']) {
    for (const name of readdirSync(join(root, parent)).toSorted()) {
      const folder = join(root, parent, name, 'src')
      if (!existsSync(folder)) continue
      const found = new Set<string>()
      for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!/\.tsx?$/.test(file) || /\.test\.tsx?$|(^|\/)testing\//.test(file)) continue
        const text = readFileSync(join(folder, file), 'utf8')
        for (const [, other = ''] of text.matchAll(/(?:from |import\()'@privatemode\/([a-z]+)/g)) {
          if (other !== name) found.add(other)
        }
      }
      imports.set(name, [...found].toSorted())
    }
  }
  return imports
}

function floorOf(
  name: string,
  imports: Map<string, string[]>,
  above: readonly string[] = [],
): number {
  if (above.includes(name)) throw new Error(`a circle: ${[...above, name].join(' → ')}`)
  const below = imports.get(name) ?? []
  return Math.max(0, ...below.map((other) => 1 + floorOf(other, imports, [...above, name])))
}
