/** Runs one program in the foreground on behalf of this process: forwards signals, exits with its exit code. */
import { spawn } from 'node:child_process'

const pollMs = 250

/** Does not return: this process ends when the program does. */
export function launch(command, args) {
  // The program watches this process and shuts down cleanly if it is killed.
  const env = { ...process.env, PRIVATEMODE_PARENT: String(process.pid) }
  const child = spawn(command, args, { stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1))
  child.on('error', (error) => {
    process.stderr.write(`error: failed to start ${command}: ${error.message}\n`)
    process.exit(1)
  })
  // If npm itself is killed, nothing is left to forward Ctrl-C.
  const parent = process.ppid
  if (process.env.npm_command === undefined) return
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    child.kill('SIGTERM')
  }, pollMs)
}
