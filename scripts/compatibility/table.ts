/** The table of checks and where each is tested, read from the names of the tests. */
import { Glob } from 'bun'
import { areas } from './checks.ts'

export type NamedTest = { readonly check: number; readonly file: string; readonly reason?: string }

/** Finds tests named `check NN: …`; a name may end with `(cannot run here: why)`. */
export async function findNamedTests(root: string): Promise<NamedTest[]> {
  const found: NamedTest[] = []
  const files = await Array.fromAsync(
    new Glob('{apps,packages,test}/**/*.{test,checks}.ts').scan({ cwd: root }),
  )
  for (const file of files.filter((file) => !file.includes('node_modules')).sort()) {
    const source = await Bun.file(`${root}/${file}`).text()
    for (const [, number = '', rest = ''] of source.matchAll(/['"`]check (\d\d?):(.*)/g)) {
      const reason = /\(cannot run here: ([^)]+)\)/.exec(rest)?.[1]
      found.push({ check: Number(number), file, ...(reason === undefined ? {} : { reason }) })
    }
  }
  return found
}

export function formatTable(tests: readonly NamedTest[]): string {
  const lines = [
    '# Compatibility',
    '',
    'What real clients rely on, and where it is tested. This page is made by `npm run docs` from the',
    'names of the tests; do not edit it. *core* means the API core alone, *system* through the proxy',
    'and the proxyless endpoint of a running stack. The agents are installed from npm and are not part',
    'of `npm test`; `npm run task -- test:agents` runs them through both, with a scripted model. Suites that others wrote',
    'are told of in [compatibility-suites.md](compatibility-suites.md).',
    '',
    'Where clients leave a choice, it is this: `stream_options` without a stream are 400; a token limit',
    'beyond the context is cut to what fits; messages show reasoning only to callers who ask for',
    '`thinking`; responses keep nothing between requests and leave out tools that only a hosted',
    'service runs; cache salts have 32 to 1024 characters.',
    '',
  ]
  for (const area of areas) {
    lines.push(`## ${area.title}`, '', '| | check | state | tests |', '|---|---|---|---|')
    area.checks.forEach((text, i) => {
      const number = area.first + i
      const own = tests.filter((test) => test.check === number)
      lines.push(`| ${number} | ${text} | ${stateOf(own)} | ${filesOf(own)} |`)
    })
    lines.push('')
  }
  return `${lines.join('\n').trimEnd()}\n`
}

function stateOf(tests: readonly NamedTest[]): string {
  const runs = tests.filter((test) => test.reason === undefined)
  const system = runs.filter((test) => test.file.startsWith('test/'))
  if (system.some((test) => !test.file.startsWith('test/agents/'))) return 'system'
  if (system.length > 0) return 'system, by `npm run task -- test:agents`'
  if (runs.length > 0) return 'core'
  const reason = tests[0]?.reason
  return reason === undefined ? 'not yet' : `cannot run here: ${reason}`
}

function filesOf(tests: readonly NamedTest[]): string {
  return [...new Set(tests.map((test) => `\`${test.file}\``))].join(', ')
}
