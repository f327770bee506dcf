/** `npm run task -- hostile [--seconds 20] [--scale 1] [--only WORD] [--once] [--write]`: hostile clients against every endpoint, as a table. */
import { resolve } from 'node:path'
import { parseTaskArguments } from '../../scripts/task-arguments.ts'
import { ClientStack } from '../clients/client-stack.ts'
import { gatewayWords } from '../hostile/gateway-words.ts'
import { startHostileWorld } from '../hostile/hostile-world.ts'
import { attacks } from './attacks.ts'
import { billTricks } from './bill-tricks.ts'
import { onceTricks } from './once-tricks.ts'
import { People, peopleTricks } from './people-tricks.ts'
import { type Target, targetsOf } from './target.ts'
import { tryOnce } from './try-once.ts'
import { maxGrownMiB, ms, withstand } from './withstand.ts'

const { values } = parseTaskArguments({
  options: {
    seconds: { type: 'string', default: '20' },
    scale: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    /** Single messages only, no lasting attacks: results that do not depend on the machine. */
    once: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})
const { only, once: isOnce } = values
const seconds = Number(values.seconds)
const scale = Number(values.scale)
/** The variation of a p99 that the machine itself causes. */
const floorMs = 50
const isWanted = ({ name }: { readonly name: string }) => name.includes(only)
const single = [...onceTricks, ...billTricks, ...peopleTricks, ...gatewayWords]
if (![...single, ...(isOnce ? [] : attacks)].some(isWanted)) {
  console.error(`no trick has ${JSON.stringify(only)} in its name`)
  process.exit(2)
}
const lines: string[] = []
let failures = 0
const say = (line: string) => {
  lines.push(line)
  console.log(line)
}

const place = new ClientStack()
await place.start()
try {
  const targets = targetsOf(place)
  say('| message | answered by proxy | proxyless | gateway |')
  say('|---|---|---|---|')
  for (const trick of onceTricks.filter(isWanted)) {
    const cells: string[] = []
    for (const target of targets) {
      const applies = trick.against?.includes(target.name) ?? true
      if (!applies) {
        cells.push('–')
        continue
      }
      const { status, problems } = await tryOnce(place, trick, target)
      failures += problems.length
      const shown = status === 200 && trick.group === 'paths' ? 'its page' : `${status}`
      cells.push(problems.length === 0 ? shown : `**${status}: ${problems.join('; ')}**`)
    }
    say(`| ${trick.group}: ${trick.name} | ${cells.join(' | ')} |`)
  }
  await tricksWithBills()
  await tricksOfPeople()
  await wordsOfGateways()
  if (!isOnce) await lastingTricks(targets)
} finally {
  await place.stop()
}
if (values.write) await writeTables()
console.log(failures === 0 ? '\nall withstood' : `\n${failures} problems`)
process.exit(failures === 0 ? 0 : 1)

async function tricksWithBills(): Promise<void> {
  say('')
  say('| trick with the bill | tokens used | billed |')
  say('|---|---|---|')
  for (const trick of billTricks.filter(isWanted)) {
    const { used, billed, problems } = await trick.play()
    failures += problems.length
    const bad = problems.length === 0 ? '' : ` **${problems.join('; ')}**`
    say(`| ${trick.name} | ${used} | ${billed}${bad} |`)
  }
}

async function tricksOfPeople(): Promise<void> {
  say('')
  say('| attack on accounts | the attacker got |')
  say('|---|---|')
  const people = new People(place)
  for (const trick of peopleTricks.filter(isWanted)) {
    const { got, problems } = await trick.play(people)
    failures += problems.length
    say(`| ${trick.name} | ${problems.length === 0 ? got : `**${got}: ${problems.join('; ')}**`} |`)
  }
}

async function wordsOfGateways(): Promise<void> {
  say('')
  say('| a gateway that | applications were told |')
  say('|---|---|')
  const world = await startHostileWorld()
  try {
    for (const trick of gatewayWords.filter(isWanted)) {
      const { told, problems } = await trick.play(world)
      failures += problems.length
      const bad = problems.length === 0 ? '' : ` **${problems.join('; ')}**`
      say(`| ${trick.name} | ${told.join(', ')}${bad} |`)
    }
  } finally {
    await world.stop()
  }
}

async function lastingTricks(targets: readonly Target[]): Promise<void> {
  say('')
  say(
    `Sustained attacks, ${seconds} s each, ${scale === 1 ? 'at full size' : `at ${scale} times full size`}. An attack is withstood if other clients get correct answers throughout, their p99`,
  )
  say(
    `(over a few hundred answers) stays below twice its previous value plus ${floorMs} ms, and memory grows by at most ${maxGrownMiB} MiB:`,
  )
  say('')
  say('| trick | against | the attacker got | memory | p99 of others before | during |')
  say('|---|---|---|---|---|---|')
  const limits = { scale, seconds, baselineAnswers: 200, floorMs, grownMiB: maxGrownMiB }
  for (const attack of attacks.filter(isWanted)) {
    for (const target of targets.filter(({ name }) => attack.against.includes(name))) {
      const seen = await withstand(place, attack, target, limits)
      failures += seen.problems.length
      const noted = Object.entries(seen.noted).map(([what, count]) => `${count} ${what}`)
      const bad = seen.problems.length === 0 ? '' : ` **${seen.problems.join('; ')}**`
      say(
        `| ${attack.name} | ${target.name} | ${noted.join(', ')} | +${Math.round(seen.grownMiB)} MiB | ${ms(seen.before.p99Ms)} | ${ms(seen.during.p99Ms)}${bad} |`,
      )
    }
  }
}

async function writeTables(): Promise<void> {
  const document = resolve(import.meta.dir, '../../docs/hostile-clients.md')
  const text = await Bun.file(document).text()
  const marker = '<!-- written by npm run task -- hostile --write -->\n'
  const kept = text.slice(0, text.indexOf(marker) + marker.length)
  await Bun.write(document, `${kept}\n${lines.join('\n')}\n`)
}
