/** The section of SECURITY.md about testing: its figures come from the recorded runs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Report, summarise } from '../../test/faults/report.ts'
import type { FuzzRecord } from '../../test/fuzz/record.ts'
import { grownIn, type SoakReport, slopesOf } from '../../test/soak/soak-report.ts'

export type Runs = {
  readonly campaigns: readonly Report[]
  readonly soak: SoakReport | undefined
  readonly fuzzing: FuzzRecord | undefined
}

const marks = {
  start: '<!-- made by npm run docs from the runs on record -->\n',
  end: '<!-- end of what npm run docs makes -->\n',
}

export function formatSecurity(root: string, runs: Runs): string {
  const page = readFileSync(join(root, 'SECURITY.md'), 'utf8')
  const from = page.indexOf(marks.start)
  const to = page.indexOf(marks.end)
  if (from < 0 || to < from)
    throw new Error('SECURITY.md lacks the marks around its generated section')
  const section = ['', '| what | newest result |', '|---|---|', ...rowsOf(root, runs), '', '']
  return page.slice(0, from + marks.start.length) + section.join('\n') + page.slice(to)
}

function rowsOf(root: string, { campaigns, soak, fuzzing }: Runs): string[] {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const tricks = countRows(read('docs/threat-model.md'), '| trick | result |')
  const hostile = read('docs/hostile-clients.md')
  const messages = countRows(hostile, '| message | answered by')
  const floods = rowsBelow(hostile, '| trick | against |')
  const mutants = rowsBelow(read('docs/protocol-model.md'), '| left out |')
  const attacks = mutants.filter((row) => row.includes('attack found')).length
  const rows: [string, string][] = [
    ...campaigns.map((report): [string, string] => [
      `[faults](docs/reliability.md#fault-campaign), seed ${report.seed}`,
      summarise(report).text,
    ]),
    [
      '[soak](docs/reliability.md#soak)',
      soak === undefined ? 'no run on record' : formatSoak(soak),
    ],
    ['[fuzzing](docs/reliability.md#fuzzing)', formatFuzzing(fuzzing)],
    [
      "[a gateway in the attacker's hands](docs/threat-model.md#a-gateway-in-the-attackers-hands)",
      `${tricks} kinds of tricks, each detected or harmless; in \`npm test\``,
    ],
    [
      '[hostile clients](docs/hostile-clients.md)',
      `${messages} messages, each refused or harmless; ${formatFloods(floods)}`,
    ],
    [
      '[secrets](docs/threat-model.md#secrets-in-memory-and-in-what-programs-leave-behind)',
      'marked secrets on every path, searched for in everything that is written; in `npm test`',
    ],
    [
      '[protocol](docs/protocol-model.md)',
      `two models searched exhaustively, attacks found on the ${attacks} mutants that must fail; \`npm run task -- model\``,
    ],
    [
      '[traffic shape](docs/traffic-shape.md)',
      'what classifiers learn from it, and what hiding it costs',
    ],
    [
      '[supply chain](docs/dependencies.md)',
      'pins, licences, install scripts, advisories: `npm run task -- supply`',
    ],
  ]
  return rows.map(([what, result]) => `| ${what} | ${result} |`)
}

function formatSoak(soak: SoakReport): string {
  const grew = grownIn(slopesOf(soak)).length
  return (
    `${soak.minutes} minutes, ${soak.requests} requests, ${soak.violations.length} violations` +
    `${soak.violations.length === 0 ? '' : ' recorded (described on that page)'}, ${grew === 0 ? 'no growth was found' : `growth in ${grew} measured quantities of the system`}`
  )
}

function formatFuzzing(fuzzing: FuzzRecord | undefined): string {
  if (fuzzing === undefined) return 'no run on record'
  const runs = Object.values(fuzzing.targets)
  const inputs = runs.reduce((sum, run) => sum + run.inputs, 0)
  return `${runs.length} parsers with ${inputs / 1e6} million inputs in total in long runs, only typed errors thrown`
}

/** Counts the rows of the first table whose head starts with `head`. */
function countRows(page: string, head: string): number {
  return rowsBelow(page, head).length
}

function rowsBelow(page: string, head: string): string[] {
  const lines = page.split('\n')
  const at = lines.findIndex((line) => line.startsWith(head))
  if (at < 0) return []
  const rest = lines.slice(at + 2)
  const end = rest.findIndex((line) => !line.startsWith('|'))
  return end < 0 ? rest : rest.slice(0, end)
}

/** A row with a failure contains bold text. */
function formatFloods(rows: readonly string[]): string {
  const harmful = rows.filter((row) => row.includes('**')).length
  if (rows.length === 0) return 'no floods recorded'
  return harmful === 0
    ? `${rows.length} floods, other clients unharmed in the recorded runs; that page names two that harmed them in others`
    : `${rows.length} floods, ${harmful} of which harmed other clients (listed on that page)`
}
