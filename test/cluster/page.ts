/** The page docs/kubernetes.md as a list of steps, run as they are written. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from '../../scripts/deploy/locked-package.ts'
import { runCommand } from '../confined/run-command.ts'
import { codeBlocks, commandsOf } from '../documents/code-blocks.ts'
import type { Cluster } from './cluster.ts'

export class Page {
  readonly folder: string
  readonly #blocks = codeBlocks(readFileSync(join(repository, 'docs/kubernetes.md'), 'utf8'))
  readonly #ran = new Set<string>()
  readonly #path: string

  /** `folder` becomes a checkout in which the commands may write; `programs` comes first in their search path. */
  constructor(folder: string, programs: string) {
    this.folder = folder
    this.#path = `${programs}:${process.env.PATH}`
    mkdirSync(folder, { recursive: true })
    for (const name of readdirSync(repository)) {
      if (name !== '.git' && name !== 'cluster')
        symlinkSync(join(repository, name), join(folder, name))
    }
  }

  /** All shell blocks below one heading, in one shell. */
  async run(heading: string, cluster: Cluster, limitMs = 600_000): Promise<string> {
    const blocks = this.#blocks.filter(
      (block) => block.heading === heading && block.language === 'sh',
    )
    if (blocks.length === 0) throw new Error(`the page has no commands below "${heading}"`)
    this.#ran.add(heading)
    // Job control as at a terminal, for the page ends what it left running.
    const script = `set -euo pipefail -m\n${blocks.map(({ text }) => text).join('\n')}`
    const env = { ...cluster.env, PATH: this.#path }
    const { code, out, errors } = await runCommand(['bash', '-c', script], env, {
      limitMs,
      cwd: this.folder,
    })
    if (code === 0) return out
    throw new Error(`"${heading}" ended with ${code}: ${`${out}${errors}`.trim().slice(-1500)}`)
  }

  /** How many commands the page has. */
  get count(): number {
    const blocks = this.#blocks.filter(({ language }) => language === 'sh')
    return blocks.flatMap(({ text }) => commandsOf(text)).length
  }

  /** Headings with commands that nothing has run yet. */
  left(): string[] {
    const all = this.#blocks.filter(({ language }) => language === 'sh')
    return [...new Set(all.map(({ heading }) => heading))].filter((one) => !this.#ran.has(one))
  }
}
