/** Where the time goes: the cost of each stage, from its own measurement. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './child.ts'

export type Stage = { readonly name: string; readonly us: number }
export type Stages = { readonly chat: readonly Stage[]; readonly chunk: readonly Stage[] }

export const stagesPath = join(root, 'docs/performance/stages.json')

export function formatStages(): string[] {
  if (!existsSync(stagesPath)) return []
  const { chat, chunk } = JSON.parse(readFileSync(stagesPath, 'utf8')) as Stages
  const table = (title: string, stages: readonly Stage[]) => {
    const total = stages.reduce((sum, { us }) => sum + us, 0)
    return [
      `| ${title} | CPU µs | part |`,
      '|---|---|---|',
      ...stages.map(
        ({ name, us }) => `| ${name} | ${us.toFixed(2)} | ${((us * 100) / total).toFixed(0)}% |`,
      ),
      `| together | ${total.toFixed(2)} | |`,
      '',
    ]
  }
  return ['## Where the time goes', '', ...table('a small chat', chat), ...table('a chunk', chunk)]
}
