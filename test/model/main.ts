/** `npm run task -- model`: checks the models of the protocol and their mutants; --write puts the tables into the document. */
import { resolve } from 'node:path'
import {
  behavesAsExpected,
  checkMutant,
  checkReachable,
  checkWhole,
  missingTools,
} from './check-model.ts'
import { type Model, mutants, properties } from './mutants.ts'
import { writeTraces } from './traces.ts'

const document = resolve(import.meta.dir, '../../docs/protocol-model.md')
const missing = missingTools()
if (missing.length > 0) {
  console.error(
    `could not run: ${missing.join(' and ')} missing (Debian: apt-get install spin gcc)`,
  )
  process.exit(2)
}
let failures = 0
const lines: string[] = []
const say = (line: string) => {
  lines.push(line)
  console.log(line)
}

say('| model | states | transitions | depth | all properties | an exchange is possible |')
say('|---|---|---|---|---|---|')
for (const model of ['session', 'replay-guard'] satisfies Model[]) {
  const whole = await checkWhole(model)
  const reachable = await checkReachable(model)
  if (whole.violated || !reachable.violated) failures++
  const holds = whole.violated ? '**violated**' : 'hold'
  const alive = reachable.violated ? 'yes' : '**no**'
  say(
    `| ${model} | ${whole.states} | ${whole.transitions} | ${whole.depth} | ${holds} | ${alive} |`,
  )
}
say('')
say('| property | meaning |')
say('|---|---|')
for (const [name, { says }] of Object.entries(properties)) say(`| ${name} | ${says} |`)
say('')
say('| left out | breaks | found |')
say('|---|---|---|')
for (const mutant of mutants) {
  const search = await checkMutant(mutant)
  const expected = behavesAsExpected(mutant, search)
  if (!expected) failures++
  const breaks = mutant.breaks === 'none' ? 'nothing: another protection covers it' : mutant.breaks
  const found = search.violated ? 'attack found' : `holds in ${search.states} states`
  say(`| ${mutant.means} | ${breaks} | ${found}${expected ? '' : ', **not as expected**'} |`)
}
if (process.argv.includes('--write')) {
  await writeTables()
  await writeTraces()
}
console.log(failures === 0 ? '\nall as expected' : `\n${failures} not as expected`)
process.exitCode = failures === 0 ? 0 : 1

async function writeTables(): Promise<void> {
  const text = await Bun.file(document).text()
  const marker = '<!-- written by npm run task -- model --write -->\n'
  const before = text.slice(0, text.indexOf(marker) + marker.length)
  await Bun.write(document, `${before}\n${lines.join('\n')}\n`)
}
