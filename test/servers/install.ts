/** Where servers are installed, and how commands for it are run. */
import { fileURLToPath } from 'node:url'

/** Git-ignored; a few gigabytes for each version of vLLM. */
export const cacheFolder = fileURLToPath(new URL('../../.servers/', import.meta.url))

export async function run(command: readonly string[], cwd?: string): Promise<string> {
  const child = Bun.spawn(['nice', '-n', '5', ...command], {
    ...{ stdout: 'pipe', stderr: 'inherit' },
    ...(cwd === undefined ? {} : { cwd }),
  })
  const output = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`failed: ${command.join(' ')}`)
  return output
}
