/** The table of checks and where each is tested, derived from the names of the tests. */
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
    'What clients can rely on, and which tests check it. `npm run docs` generates this page from the names of the',
    'tests; do not edit it. *core* means that the API core is tested on its own, *system* that the check runs through',
    'the proxy and the proxyless endpoint of a running stack. [Integrations](integrations.md) has the settings of clients.',
    '',
    'Coding agents are installed from npm and run by `npm run task -- test:agents`, with a scripted model.',
    '[Third-party test suites](compatibility-suites.md) has the results of tests that other projects wrote.',
    '',
    'Where the APIs leave a choice:',
    '',
    '- `stream_options` without `stream` is a 400.',
    '- A token limit beyond the context is reduced to what fits.',
    '- Messages show reasoning only to callers that ask for `thinking`.',
    '- Responses are not stored, and tools that only a hosted service can run are left out.',
    '- Cache salts have 32 to 1024 characters.',
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
