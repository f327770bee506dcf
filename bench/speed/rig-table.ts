/** Shows that the rig is not the bottleneck: what load generator and model server can do with nothing in between. */
import { short } from '../charts.ts'
import { cpuUsOf, type Figures } from './results.ts'
import { type TargetName, targetNames } from './target.ts'
import { type WorkloadId, workloads } from './workloads.ts'

const shown: readonly WorkloadId[] = ['chat-32', 'chat-256', 'stream-32', 'prompt-1m', 'embeddings']

export function formatRig(figures: Figures): string[] {
  const rows = shown.flatMap((id) => {
    const direct = perSecondOf(figures, id, 'direct')
    if (direct === undefined) return []
    const others = targetNames
      .filter((name) => !name.startsWith('direct'))
      .map((name) => ({ name, rate: perSecondOf(figures, id, name) ?? 0 }))
      .toSorted((a, b) => b.rate - a.rate)
    const [fastest] = others
    const ours = perSecondOf(figures, id, 'proxy')
    const load = figures.figure(id, 'direct', (sample) => sample.loadCpuUs)?.middle ?? 0
    const server = figures.figure(id, 'direct', cpuUsOf('model server'))?.middle ?? 0
    const title = workloads.find((workload) => workload.id === id)?.title ?? id
    const most = fastest === undefined ? '–' : `${short(fastest.rate)} (${fastest.name})`
    return [
      `| ${title} | ${short(direct)} | ${most} | ${ours === undefined ? '–' : short(ours)} | ${short(load)} | ${short(server)} |`,
    ]
  })
  if (rows.length === 0) return []
  return [
    '## Is the rig fast enough?',
    '',
    'Requests per second of wall-clock time: directly to the model server, through the fastest target, and through our proxy; and the CPU',
    'time that load generator and model server use per request. If the fastest target comes close to the first column, wall-clock rates say',
    'more about the rig than about the target; CPU time, on which all ratios are based, is not affected.',
    '',
    '| | direct | fastest | our proxy | load µs | model server µs |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
  ]
}

const perSecondOf = (figures: Figures, id: WorkloadId, name: TargetName) =>
  figures.figure(id, name, (sample) => sample.perSecond)?.middle
