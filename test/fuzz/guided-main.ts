/** Runs under Node, bundled into one file: fuzzes one target, guided by coverage. Arguments: target, inputs, seed, corpus folder, keep. */
import './node-gaps.ts'
import { fileURLToPath } from 'node:url'
import { watchCoverage } from './block-coverage.ts'
import { readCorpus, writeCorpus } from './corpus.ts'
import { fuzz } from './fuzzer.ts'
import { attestationTargets, targets } from './targets.ts'

const [name = '', inputs = '1000', seed = '1', folder = '', keep = ''] = process.argv.slice(2)
const isNamed = (one: { readonly name: string }) => one.name === name
const target = targets.find(isNamed) ?? (await attestationTargets()).find(isNamed)
if (target === undefined) throw new Error(`no such target: ${name}`)
// Most inputs end in an error: where it was thrown says enough, and the whole stack costs more than the reading.
Error.stackTraceLimit = 2
const coverage = watchCoverage(import.meta.url, fileURLToPath(import.meta.url))
const corpus = readCorpus(folder, name)
const started = performance.now()
const limits = { inputs: Number(inputs), seed: Number(seed), maxMs: 2000 }
const { accepted, slowestMs, kept } = await fuzz(target, corpus, limits, coverage)
if (keep === 'keep') writeCorpus(folder, name, [...corpus, ...kept])
console.log(
  JSON.stringify({
    accepted,
    slowestMs,
    kept: kept.length,
    seconds: (performance.now() - started) / 1000,
    cpuSeconds: process.cpuUsage().user / 1e6,
  }),
)
