/** Runs one agent in its own folder and checks what it left behind. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { type Agent, type AgentPlace, farewell, proof } from './agent.ts'

export type Verdict = { readonly kind: 'pass' } | { readonly kind: 'fail'; readonly why: string }

const limitMs = 180_000

export async function runAgent(
  agent: Agent,
  where: Omit<AgentPlace, 'work' | 'home'>,
  networkEnv: Readonly<Record<string, string>>,
  server: ScriptedServer,
): Promise<Verdict> {
  const work = mkdtempSync(join(tmpdir(), 'privatemode-agent-work-'))
  const home = mkdtempSync(join(tmpdir(), 'privatemode-agent-home-'))
  const before = server.requests.length
  try {
    Bun.spawnSync(['git', 'init', '--quiet'], { cwd: work })
    const { commands, env } = agent.prepare({ ...where, work, home })
    const basics = { PATH: process.env.PATH ?? '', HOME: home, LANG: 'C.UTF-8', TERM: 'dumb' }
    let output = ''
    for (const command of commands) {
      const ended = await runCommand(command, work, { ...basics, ...networkEnv, ...env })
      output = ended.output
      if (ended.code !== 0) return fail(`ended with ${ended.code}`, output)
    }
    if (!output.includes(farewell)) return fail('did not show the last words of the model', output)
    const file = join(work, proof.file)
    const isMade = existsSync(file) && readFileSync(file, 'utf8').trim() === proof.word
    if (!isMade) return fail('did not execute its tool', output)
    const results = server.requests.slice(before).filter(({ body }) => {
      const messages = (body.messages as { role: string }[] | undefined) ?? []
      return messages.some(({ role }) => role === 'tool')
    })
    return results.length > 0 ? { kind: 'pass' } : fail('gave no result of its tool back', output)
  } finally {
    rmSync(work, { recursive: true, force: true })
    rmSync(home, { recursive: true, force: true })
  }
}

function fail(why: string, output: string): Verdict {
  return { kind: 'fail', why: `it ${why}; its output ends:\n${output.slice(-1500)}` }
}

async function runCommand(
  command: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<{ code: number; output: string }> {
  const child = Bun.spawn([...command], {
    cwd,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: limitMs,
    killSignal: 'SIGKILL',
  })
  const [out, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, output: `${errors}${out}` }
}
