/** `docs/flags.md`: the flags of the gateway and the worker, from their flag tables. */
import { program as gateway } from '@privatemode/gateway'
import { type FlagTable, formatFlagTable, type Program } from '@privatemode/service'
import { program as worker } from '@privatemode/worker'

export function formatFlags(): string {
  return `# Flags of the gateway and the worker

Every flag of the two programs that a backend consists of. The command line wins over the environment, and \`--help\` prints the same.
[Proxy](proxy.md#flags) lists the flags of the proxy. \`npm run docs\` generates this page from the flag tables.

${formatProgram('Gateway', gateway)}
${formatProgram('Worker', worker)}`
}

function formatProgram(title: string, program: Program<FlagTable>): string {
  const groups = new Set(Object.values(program.flags).map(({ group }) => group ?? 'Flags'))
  const tables = [...groups].map((group) => `### ${group}\n\n${formatFlagTable(program, group)}`)
  return `## ${title}\n\n${tables.join('\n')}`
}
