/** Agents started by `privatemode-proxy AGENT`, with what that sets and nothing else. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { shellWord } from '../../apps/portal/src/snippets/shell-word.ts'
import type { AgentName } from '../../apps/proxy/src/agents/agent-settings.ts'
import type { Agent, AgentPlace } from './agent.ts'

type Launched = {
  readonly name: AgentName
  readonly package: string
  /** What the launcher looks for on the path, and where the package has it. */
  readonly command: string
  readonly program: string
  /** For a run without a terminal, before the task. */
  readonly args: readonly string[]
}

const platform = `${process.platform}-${process.arch}`
const main = resolve(import.meta.dir, '../../apps/proxy/src/main.ts')

const launched: readonly Launched[] = [
  {
    ...{ name: 'claude', package: '@anthropic-ai/claude-code', command: 'claude' },
    program: `@anthropic-ai/claude-code-${platform}/claude`,
    args: ['-p', '--allowedTools', 'Bash', '--output-format', 'text'],
  },
  {
    ...{ name: 'opencode', package: 'opencode-ai', command: 'opencode' },
    program: `opencode-${platform}/bin/opencode`,
    args: ['run'],
  },
  {
    ...{ name: 'cline', package: 'cline', command: 'cline', program: '.bin/cline' },
    args: ['--json', '-t', '90'],
  },
  {
    ...{ name: 'continue', package: '@continuedev/cli', command: 'cn', program: '.bin/cn' },
    args: ['-p', '--auto'],
  },
  {
    ...{ name: 'codex', package: '@openai/codex', command: 'codex', program: '.bin/codex' },
    args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
  },
]

/** One for each of these agents that the launcher knows. */
export function launchedAgents(agents: readonly Agent[]): Agent[] {
  return launched.flatMap((launch) => {
    const agent = agents.find((each) => each.package === launch.package)
    const title = `${launch.name} finishes a task when the launcher starts it`
    return agent === undefined
      ? []
      : [{ ...agent, title, prepare: (place: AgentPlace) => prepare(launch, place) }]
  })
}

function prepare(launch: Launched, place: AgentPlace): ReturnType<Agent['prepare']> {
  const bin = join(place.home, 'bin')
  mkdirSync(bin)
  const program = join(place.installed, 'node_modules', launch.program)
  writeFileSync(join(bin, launch.command), `#!/bin/sh\nexec ${shellWord(program)} "$@"\n`)
  chmodSync(join(bin, launch.command), 0o755)
  const { port } = new URL(place.url)
  const command = [process.execPath, main, launch.name, '--port', port]
  return {
    commands: [[...command, '--', ...launch.args, place.task]],
    env: { PATH: `${bin}:${process.env.PATH}` },
  }
}
