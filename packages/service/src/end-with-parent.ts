/** Ends this program when the process that started it is gone, even if that one was killed. */

/** The parent sets this to its own process id; it survives a program that starts itself over. */
const parentVariable = 'PRIVATEMODE_PARENT'
const pollMs = 250

/** The environment for a child process that is to end with this one. */
export function childEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, [parentVariable]: String(process.pid) }
}

/** Call it in `main.ts`. A program that was started by hand has no such variable and runs on its own. */
export function endWithParent(): void {
  const named = process.env[parentVariable]
  if (named === undefined) return
  const parent = Number(named)
  // Children of this program have another parent, and `Bun.spawn` hands them the variable all the same.
  delete process.env[parentVariable]
  if (process.ppid !== parent && isRunning(parent)) return
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, pollMs)
  timer.unref()
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
