/** Explains missed goals by the figures of the same run. */

import { short } from '../charts.ts'
import { type Goal, type GoalTopic, judgeGoals } from './goals.ts'
import type { Stage } from './least-us.ts'
import type { PartCost, Sample } from './measure.ts'
import { cpuUsOf, Figures, peakMiBOf, type Results } from './results.ts'
import type { TargetName } from './target.ts'
import type { WorkloadId } from './workloads.ts'

export function explainMissed(results: Results): string[] {
  const figures = new Figures(results)
  const missed = judgeGoals(figures, results).filter(({ isReached }) => isReached === false)
  if (missed.length === 0) return []
  return [
    '### Why goals were missed',
    '',
    ...missed.map(
      (goal) => `- **${goal.measure}** (${goal.goal}): ${explain(goal, figures, results)}`,
    ),
    '',
  ]
}

function explain({ topic }: Goal, figures: Figures, results: Results): string {
  switch (topic.kind) {
    case 'per-cpu':
      return explainRate(topic, figures, results)
    case 'tail':
      return explainTail(figures)
    case 'first-token':
      return explainFirstToken(figures)
    case 'two-cores':
      return explainTwoCores(results)
    case 'stream-growth':
      return explainGrowth(figures)
    case 'parts':
      return explainParts(topic, figures)
    case 'other':
      return 'the tables below have the parts of this figure.'
  }
}

function explainRate(
  { workload, target }: Extract<GoalTopic, { kind: 'per-cpu' }>,
  figures: Figures,
  { stages }: Results,
): string {
  const ours = cpuOf(figures, workload, target, 'proxy')
  const nginx = cpuOf(figures, workload, 'nginx', 'nginx')
  const portkey = cpuOf(figures, workload, 'portkey', 'portkey')
  const sides = `the proxy uses ${us(ours)} for one, nginx ${us(nginx)}, Portkey ${us(portkey)}.`
  const shape =
    workload === 'stream-32' && target === 'proxy' ? ` ${explainShape(figures, stages)}` : ''
  if (stages === undefined) return `${sides}${shape}`
  const { name, all, own } = stagesOf(workload, stages)
  const sockets = all.find((stage) => stage.name.startsWith('sockets'))?.us
  const floor = `Of the stages of ${name}, sockets take ${us(sockets)} and bare ciphers and hashes ${us(own)}: nothing in our code can save those.`
  if (workload.startsWith('prompt')) return `${sides} ${floor} ${explainLimit(all, own, nginx)}`
  return `${sides} ${floor}${shape}`
}

/** The programs that take part, and what each uses for one request. */
function explainParts(
  { workload, target }: Extract<GoalTopic, { kind: 'parts' }>,
  figures: Figures,
): string {
  const names = figures.of(workload, target)[0]?.parts.map(({ name }) => name) ?? []
  const costs = names.map((name) => `${name} ${us(cpuOf(figures, workload, target, name))}`)
  return `CPU time for one request: ${costs.join(', ')}.`
}

/** A shape sets the pace: most of a stream's cost comes from its many pieces with pauses in between. */
function explainShape(figures: Figures, stages: Results['stages']): string {
  const of = (target: TargetName, read: (part: PartCost) => number) =>
    figures.figure('stream-32', target, ({ parts }) => parts[0] && read(parts[0]))?.middle
  const pieces = (target: TargetName) =>
    figures.figure('stream-32', target, ({ piecesPerAnswer }) => piecesPerAnswer)?.middle
  const inLoop = stages?.chunk.reduce((sum, stage) => sum + stage.us, 0)
  const ticks = pieces('proxy')
  const sleeps = of('proxy', (part) => part.sleeps)
  return (
    `A shaped stream comes in ${count(ticks)} pieces, one for each tick of its clock, where an unshaped one comes in ` +
    `${count(pieces('proxy, shape off'))} for ${us(of('proxy, shape off', ({ cpuUs }) => cpuUs))} and nginx passes on ` +
    `${count(pieces('nginx'))}. In a loop so many would cost ${us(ticks && inLoop && ticks * inLoop)}. At ` +
    `${perSecond(figures, 'stream-32', 'proxy')} streams a second the process goes to sleep ${count(sleeps)} times for each: of what it uses, ` +
    `${us(of('proxy', ({ kernelUs }) => kernelUs))} are the kernel's, for sockets and waking up, and ${us(of('proxy', ({ besideUs }) => besideUs))} ` +
    "those of the runtime's other threads, which compile and look after memory. With 256 at once a stream costs " +
    `${us(cpuOf(figures, 'stream-256', 'proxy', 'proxy'))}.`
  )
}

function stagesOf(workload: WorkloadId, stages: NonNullable<Results['stages']>) {
  if (workload.startsWith('stream'))
    return { name: 'one chunk', all: stages.chunk, own: stages.bare.chunk }
  if (workload.startsWith('prompt'))
    return { name: 'a prompt of 10 MB', all: stages.prompt, own: stages.bare.prompt }
  return { name: 'a small chat', all: stages.chat, own: stages.bare.chat }
}

/** The costs that nginx does not have: a runtime that copies what it reads, and ciphers. */
function explainLimit(all: readonly Stage[], own: number, nginx: number | undefined): string {
  const sockets = all.find((stage) => stage.name.startsWith('sockets'))?.us ?? 0
  const together = all.reduce((sum, stage) => sum + stage.us, 0)
  const ratio = (cost: number) => (nginx === undefined ? '–' : `${short(nginx / cost)} ×`)
  return (
    `With those two alone it would be ${ratio(sockets + own)}, with all stages at their best (${us(together)}) ${ratio(together)}. ` +
    'The rest is the collector, which runs once for every few dozen megabytes that sockets and ciphers give out in buffers of their own, ' +
    'and memory that another core has just written.'
  )
}

function explainTail(figures: Figures): string {
  const p99 = (name: TargetName) => figures.figure('chat-1', name, (one) => one.latencyUs.p99)
  const most = (name: TargetName) => figures.figure('chat-1', name, (one) => one.latencyUs.most)
  const ms = (value: number | undefined) =>
    value === undefined ? '–' : `${short(value / 1000)} ms`
  return (
    `the backend of the rig alone has a p99 of ${ms(p99('direct, sealed')?.middle)} (most ${ms(most('direct, sealed')?.middle)}) before the proxy adds anything; ` +
    `with the proxy it is ${ms(p99('proxy')?.middle)} (most ${ms(most('proxy')?.middle)}). ` +
    'The values beyond the median are garbage-collection pauses of both programs, and turns of other threads on the same core.'
  )
}

function explainFirstToken(figures: Figures): string {
  const part = (name: string) => cpuOf(figures, 'stream-1', 'whole path, shape off', name)
  const [proxy, gateway, worker] = [part('proxy'), part('gateway'), part('worker')]
  const sum = (proxy ?? 0) + (gateway ?? 0) + (worker ?? 0)
  const took = (target: TargetName, read: (sample: Sample) => number) =>
    us(figures.figure('stream-1', target, read)?.middle)
  const first = took('whole path, shape off', ({ firstByteUs }) => firstByteUs.p50)
  const whole = took('whole path, shape off', ({ latencyUs }) => latencyUs.p50)
  const alone = took('proxy, shape off', ({ firstByteUs }) => firstByteUs.p50)
  return (
    `all three programs share one core here and take turns: a stream of 256 chunks uses ${us(sum)} of processor in them ` +
    `(proxy ${us(proxy)}, gateway ${us(gateway)}, worker ${us(worker)}). The first token takes ${first}, the whole ${whole}; through the proxy ` +
    `and the backend that stands for the other two, it takes ${alone}. Work on later tokens is put off until the first one has been sent. ` +
    'Before that the processor switches six times, into and out of each program, each time with a wake-up and cold caches.'
  )
}

function explainTwoCores({ twoCores }: Results): string {
  if (twoCores === undefined) return 'it was not measured.'
  const { one, two, aroundUs } = twoCores
  const byClock = (2 * Math.max(one.cpuUs, aroundUs)) / (two.cpuUs + aroundUs)
  return (
    `a request costs ${us(one.cpuUs)} with one process and ${us(two.cpuUs)} with two, of which the busier had ${short(two.busiestPart * 100)}%: ` +
    `two that share nothing and evenly would give 2 ×. Load and backend use ${us(aroundUs)} for each request, so on two cores ` +
    `the clock could show no more than ${short(byClock)} ×.`
  )
}

function explainGrowth(figures: Figures): string {
  const target = 'proxy, shape off'
  const at = (workload: WorkloadId) => {
    const pieces = figures.figure(workload, target, (sample) => sample.piecesPerAnswer)?.middle
    const peak = figures.figure(workload, target, peakMiBOf('proxy'))?.middle
    const parts = pieces === undefined ? '' : ` in ${short(pieces)} pieces`
    return `${us(cpuOf(figures, workload, target, 'proxy'))}${parts}, at most ${short(peak ?? 0)} MiB`
  }
  return (
    `a stream costs the proxy ${at('steady-1')} alone, ${at('steady-32')} among 32, ${at('steady-1000')} among 1000. ` +
    'Frames are the same and connections are open before, so the growth comes from the number of streams: code that visits all streams to ' +
    'serve one, a collector with more to scan, or caches that no longer hold what is waiting. Fewer pieces than frames mean that the ' +
    'machine was too busy to pass each on before the next arrived.'
  )
}

const cpuOf = (figures: Figures, workload: WorkloadId, target: TargetName, part: string) =>
  figures.figure(workload, target, cpuUsOf(part))?.middle

const perSecond = (figures: Figures, workload: WorkloadId, target: TargetName) =>
  short(figures.figure(workload, target, (sample) => sample.perSecond)?.middle ?? 0)

const count = (value: number | undefined) => (value === undefined ? '–' : short(value))
const us = (value: number | undefined) => (value === undefined ? '–' : `${short(value)} µs`)
