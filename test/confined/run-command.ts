/** Runs a command to its end, for a bounded time, and returns its output. */

export type CommandResult = { readonly code: number; readonly out: string; readonly errors: string }

export type RunOptions = {
  readonly input?: string
  readonly limitMs?: number
  readonly cwd?: string
}

export async function runCommand(
  command: readonly string[],
  env: Record<string, string>,
  { input, limitMs = 180_000, cwd }: RunOptions = {},
): Promise<CommandResult> {
  const child = Bun.spawn([...command], {
    stdin: input === undefined ? 'ignore' : new TextEncoder().encode(input),
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs)
  const [out, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  clearTimeout(timer)
  return { code, out, errors }
}
