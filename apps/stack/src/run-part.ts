/** Runs one part of the stack and ends it when the stack itself is gone, however it went. */

const [program = '', ...args] = process.argv.slice(2)
const parent = Number(process.env.PRIVATEMODE_PARENT)
delete process.env.PRIVATEMODE_PARENT

const watch = setInterval(() => {
  if (process.ppid === parent) return
  clearInterval(watch)
  process.kill(process.pid, 'SIGTERM')
}, 500)
watch.unref()

process.argv = [process.argv[0] ?? '', program, ...args]
await import(program)
