/** Agents set up only with what the portal's quick start shows, copied from the page. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { shellWord } from '../../apps/portal/src/snippets/shell-word.ts'
import { launchChromium } from '../browser/chromium.ts'
import { createFirstAccount, firstAccountLink } from '../browser/portal-world.ts'
import { readSteps, type ShownStep, ways } from '../browser/quick-start.ts'
import type { RunningStack } from '../e2e/running-stack.ts'
import type { Agent } from './agent.ts'

/** The page's name for a client, and the command that it shows. */
const shown: readonly { client: string; package: string; command: string }[] = [
  { client: 'Claude Code', package: '@anthropic-ai/claude-code', command: 'claude' },
  { client: 'opencode', package: 'opencode-ai', command: 'opencode' },
]

/** One for each of these agents that the page knows and each way to connect; undefined without a browser. */
export async function pastedAgents(
  stack: RunningStack,
  agents: readonly Agent[],
): Promise<Agent[] | undefined> {
  const browser = await launchChromium()
  if (browser === undefined) return undefined
  try {
    const page = await browser.newPage({ baseURL: stack.gatewayUrl })
    await createFirstAccount(page, firstAccountLink({ stack, origin: stack.gatewayUrl }))
    const pasted: Agent[] = []
    for (const { client, command, ...known } of shown) {
      const agent = agents.find((each) => each.package === known.package)
      if (agent === undefined) continue
      for (const way of ways) {
        const steps = await readSteps(page, way, client)
        const title = `${client} finishes a task with what the portal shows, pasted: ${way}`
        pasted.push({ ...agent, title, prepare: (place) => paste(agent, command, steps, place) })
      }
    }
    return pasted
  } finally {
    await browser.close()
  }
}

/**
 * Saves the shown files and runs the shown commands. The agent's own command gets
 * the task as an argument, which people would type into its window.
 */
function paste(
  agent: Agent,
  command: string,
  steps: readonly ShownStep[],
  place: Parameters<Agent['prepare']>[0],
): ReturnType<Agent['prepare']> {
  const bin = join(place.home, 'bin')
  const [words = []] = agent.prepare(place).commands
  mkdirSync(bin)
  writeFileSync(join(bin, command), `#!/bin/sh\nexec ${words.map(shellWord).join(' ')}\n`)
  chmodSync(join(bin, command), 0o755)
  const commands: string[][] = []
  for (const step of steps) {
    const file = /^Save as (\S+)/.exec(step.do)?.[1]
    if (file === undefined) commands.push(['bash', '-c', step.text])
    else writeFileSync(join(place.work, file), step.text)
  }
  return { commands, env: { PATH: `${bin}:${process.env.PATH}` } }
}
