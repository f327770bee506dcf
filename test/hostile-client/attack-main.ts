/** The attacking process: runs one attack against one endpoint until it is stopped. `attack-main.ts TRICK SCALE` with the target as JSON on standard input. */
import { type Attack, attacks } from './attacks.ts'
import type { Target } from './target.ts'

const [trick = '', scale = '1'] = process.argv.slice(2)
const target = JSON.parse(await Bun.stdin.text()) as Target
const attack: Attack | undefined = attacks.find(({ name }) => name === trick)
if (attack === undefined) throw new Error(`no such trick: ${trick}`)
const seen = new Map<string, number>()
process.on('SIGTERM', () => {
  process.stdout.write(`\n${JSON.stringify(Object.fromEntries(seen))}\n`)
  process.exit(0)
})
process.on('uncaughtException', () => {})
process.on('unhandledRejection', () => {})
await attack.run(target, Number(scale), (what) => {
  if (seen.size === 0) process.stdout.write('going\n')
  seen.set(what, (seen.get(what) ?? 0) + 1)
})
// Held sockets do not keep the process alive by themselves.
setInterval(() => {}, 1000)
