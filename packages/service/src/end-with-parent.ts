/** Ends this program when its parent process is gone, even if that was killed. */

/** Set by the parent to its own process id; it survives a program that restarts itself. */
const parentVariable = 'PRIVATEMODE_PARENT'
const pollMs = 250

/** The environment for a child process that must end with this one. */
export function childEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, [parentVariable]: String(process.pid) }
}

/** Call it in `main.ts`. A program started by hand lacks the variable and runs on its own. */
export function endWithParent(): void {
  const named = process.env[parentVariable]
  if (named === undefined) return
  const parent = Number(named)
  // Children of this program have a different parent, but `Bun.spawn` would pass them the variable.
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
