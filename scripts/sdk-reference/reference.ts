/** Generates the SDK's API reference from its declarations: one entry per public name, with its TSDoc. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { buildPackage } from '../../packages/sdk/build.ts'

type Declared = { readonly doc: string; readonly text: string }

const entries = [
  ['@privatemode/sdk', 'sdk/index.d.ts'],
  ['@privatemode/sdk/anthropic', 'sdk/anthropic.d.ts'],
  ['@privatemode/sdk/badge', 'sdk/badge.d.ts'],
  ['@privatemode/sdk/canary', 'sdk/canary/index.d.ts'],
  ['@privatemode/sdk/chain', 'sdk/chain.d.ts'],
  ['@privatemode/sdk/core', 'sdk/core.d.ts'],
  ['@privatemode/sdk/openai', 'sdk/openai.d.ts'],
  ['@privatemode/sdk/software', 'sdk/software.d.ts'],
] as const

export async function formatReference(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-reference-'))
  try {
    const dist = await buildPackage(join(folder, 'dist'))
    const parts = entries.map(([name, file]) => formatEntry(name, join(dist, file)))
    const head =
      '# SDK API reference\n\nEvery public name of the SDK, with its declaration; the guide is [sdk.md](sdk.md). ' +
      '`npm run docs` generates this page; do not edit.\n'
    return [head, ...parts].join('\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function formatEntry(name: string, path: string): string {
  const found = new Map<string, Declared>()
  collect(path, undefined, found)
  const sections = [...found]
    .toSorted(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
    .map(([exported, { doc, text }]) => {
      const words = doc === '' ? '' : `${doc}\n\n`
      return `### \`${exported}\`\n\n${words}\`\`\`ts\n${text}\n\`\`\`\n`
    })
  return [`## \`${name}\`\n`, ...sections].join('\n')
}

/** Follows re-exports to where a name is declared; `wanted` undefined means every name. */
function collect(
  path: string,
  wanted: Set<string> | undefined,
  found: Map<string, Declared>,
): void {
  const source = readFileSync(path, 'utf8')
  for (const [, names = '', from] of source.matchAll(
    /^export (?:type )?\{([^}]*)\}(?: from '([^']+)')?;/gm,
  )) {
    const listed = names.split(',').map((name) => name.trim().replace(/^type /, ''))
    const here = listed.filter((name) => name !== '' && (wanted === undefined || wanted.has(name)))
    const target = from ?? importedFrom(source, here[0])
    if (here.length === 0 || target === undefined) continue
    collect(join(dirname(path), target.replace(/\.js$/, '.d.ts')), new Set(here), found)
  }
  for (const [name, declared] of declarations(source)) {
    if (wanted === undefined || wanted.has(name)) found.set(name, declared)
  }
}

function importedFrom(source: string, name: string | undefined): string | undefined {
  for (const [, names = '', from] of source.matchAll(
    /^import (?:type )?\{([^}]*)\} from '([^']+)';/gm,
  )) {
    if (names.split(',').some((one) => one.trim() === name)) return from
  }
  return undefined
}

/**
 * Splits the source at declarations and their comments, which start at column 0. So do comments
 * between the members of a union; those belong to the declaration they are in.
 */
function declarations(source: string): [string, Declared][] {
  const found: [string, Declared][] = []
  const blocks = source.split(
    /^(?=\/\*\*(?:[^*]|\*(?!\/))*\*\/\s*(?:\/\*\*|export |declare |type )|export |import |declare |type )/m,
  )
  let doc = ''
  for (const block of blocks) {
    if (block.startsWith('/**')) {
      doc = readDoc(block)
      continue
    }
    const name =
      /^export (?:declare )?(?:abstract )?(?:class|function|const|type|interface) (\w+)/.exec(block)
    if (name?.[1] !== undefined) found.push([name[1], { doc, text: readText(block) }])
    doc = ''
  }
  return found
}

function readDoc(block: string): string {
  const lines = block.replace(/^\/\*\*|\*\/\s*$/g, '').split('\n')
  return lines
    .map((line) => line.replace(/^\s*\* ?/, '').trim())
    .join(' ')
    .replace(/\{@link ([^}]+)\}/g, '`$1`')
    .trim()
}

function readText(block: string): string {
  return block
    .replace(/^export (declare )?/, '')
    .replace(/^ {4}(#private|protected constructor\([^)]*\)|private constructor\([^)]*\));\n/gm, '')
    .trim()
}
