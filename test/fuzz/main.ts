/**
 * `npm run task -- fuzz [part of a name] [--inputs 1000000] [--seed 1] [--keep] [--record] [--missing]`: fuzzes
 * every parser, guided by coverage under Node.
 *
 * `--keep` adds inputs that reached new code to the corpus. `--record` writes figures into
 * docs/reliability/fuzz.json, target by target; `--missing` leaves out those that are there with as many inputs.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseTaskArguments } from '../../scripts/task-arguments.ts'
import { readRecord, writeRecord } from './record.ts'
import { attestationTargets, targets } from './targets.ts'

const { values, positionals } = parseTaskArguments({
  allowPositionals: true,
  options: {
    inputs: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    keep: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    missing: { type: 'boolean', default: false },
  },
})
const wanted = positionals.join(' ')
const names = [...targets, ...(await attestationTargets())].map(({ name }) => name)
const recorded = readRecord().targets
const isDone = (name: string) => (recorded[name]?.inputs ?? 0) >= Number(values.inputs)
const chosen = names.filter((name) => name.includes(wanted) && !(values.missing && isDone(name)))
if (chosen.length === 0) {
  console.error(`nothing to do; there are: ${names.join(', ')}`)
  process.exit(values.missing ? 0 : 2)
}
const folder = mkdtempSync(join(tmpdir(), 'privatemode-fuzz-'))
let failures = 0
try {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, 'guided-main.ts')],
    target: 'node',
    outdir: folder,
    naming: 'guided.mjs',
  })
  if (!built.success) throw new AggregateError(built.logs, 'the bundle could not be made')
  console.log('| parser | inputs | read | slowest | kept for new code | seconds of processor |')
  console.log('|---|---|---|---|---|---|')
  for (const name of chosen) await runOne(name)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(failures === 0 ? '\nno crash, no disagreement' : `\n${failures} found`)
process.exit(failures === 0 ? 0 : 1)

async function runOne(name: string): Promise<void> {
  const corpus = join(import.meta.dir, 'corpus')
  const script = join(folder, 'guided.mjs')
  const args = [name, values.inputs, values.seed, corpus, values.keep ? 'keep' : '']
  const child = Bun.spawn(['node', script, ...args], { stdout: 'pipe', stderr: 'pipe' })
  const [out, problems, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) {
    failures++
    console.log(`| ${name} | **found** | | | | |\n${problems.slice(0, 3000)}`)
    return
  }
  const { accepted, slowestMs, kept, cpuSeconds } = JSON.parse(out)
  const { inputs, seed } = values
  if (values.record) {
    const day = new Date().toISOString().slice(0, 10)
    const figures = {
      inputs: Number(inputs),
      seed: Number(seed),
      read: accepted,
      slowestMs,
      kept,
      day,
    }
    writeRecord(name, figures)
  }
  console.log(
    `| ${name} | ${inputs} | ${accepted} | ${slowestMs.toFixed(1)} ms | ${kept} | ${cpuSeconds.toFixed(0)} |`,
  )
}
