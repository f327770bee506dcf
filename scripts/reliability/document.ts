/** Writes docs/reliability.md from the results of the runs in docs/reliability/. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { drawPanels } from '../../bench/charts.ts'
import { formatTable, type Report, summarise } from '../../test/faults/report.ts'
import type { FuzzRecord } from '../../test/fuzz/record.ts'
import { loadGenerator, type Series } from '../../test/soak/record.ts'
import { formatSlopes, grownIn, type SoakReport, slopesOf } from '../../test/soak/soak-report.ts'
import { formatSecurity } from './security-section.ts'
import { faultsText, fuzzText, limitsText, soakText } from './words.ts'

/** The documents by path below the repository's root. */
export function reliabilityDocuments(root: string): Record<string, string> {
  const folder = join(root, 'docs/reliability')
  const campaigns = (existsSync(folder) ? readdirSync(folder) : [])
    .filter((name) => /^faults-\d+\.json$/.test(name))
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Report)
  const soakPath = join(folder, 'soak.json')
  const soak = existsSync(soakPath)
    ? (JSON.parse(readFileSync(soakPath, 'utf8')) as SoakReport)
    : undefined
  const fuzzPath = join(folder, 'fuzz.json')
  const fuzzing = existsSync(fuzzPath)
    ? (JSON.parse(readFileSync(fuzzPath, 'utf8')) as FuzzRecord)
    : undefined
  const page = [
    '# Reliability',
    '',
    'How the system behaves under faults, under load for hours, and with damaged inputs. `npm run docs` generates this page from the results',
    'of the runs in [reliability/](reliability).',
    '',
    ...faultsText,
    ...campaigns.flatMap(formatCampaign),
    ...limitsText,
    ...soakText,
    ...(soak === undefined ? ['No run has been recorded.', ''] : formatSoakRun(soak)),
    ...fuzzText,
    ...(fuzzing === undefined ? ['No run has been recorded.', ''] : formatFuzzRuns(fuzzing)),
  ]
  return {
    'docs/reliability.md': page.join('\n'),
    'SECURITY.md': formatSecurity(root, { campaigns, soak, fuzzing }),
    ...(soak === undefined ? {} : { 'docs/reliability/soak.svg': drawSoak(soak) }),
  }
}

/** Memory, handles and latency of a soak run over time, one panel each. */
function drawSoak({ processes, latency, minutes }: SoakReport): string {
  const curve = (name: string, { minutes: at, values }: Series) => ({
    name,
    points: at.map((minute, index) => [minute, values[index] ?? 0] as const),
  })
  const ofProcesses = (what: string) =>
    Object.entries(processes).flatMap(([name, all]) => {
      const series = all[what]
      return series === undefined ? [] : [curve(name, series)]
    })
  return drawPanels('Memory, handles and latency over a soak run', minutes, [
    { title: 'memory, MiB', curves: ofProcesses('rssMib') },
    {
      title: 'open handles',
      curves: ofProcesses('handles').filter(({ name }) => name !== loadGenerator),
    },
    {
      title: 'latency, ms',
      curves: Object.entries(latency).map(([name, series]) => curve(name, series)),
    },
  ])
}

function formatCampaign(report: Report): string[] {
  const machine = report.machine === undefined ? '' : ` ${report.machine}.`
  return [
    `### Seed ${report.seed}, ${report.startedAt.slice(0, 10)}`,
    '',
    `${summarise(report).text}.${machine}`,
    '',
    formatTable(report),
    '',
  ]
}

function formatFuzzRuns({ targets }: FuzzRecord): string[] {
  const rows = Object.entries(targets).map(
    ([name, { inputs, read, slowestMs, kept, seed, day }]) =>
      `| ${name} | ${inputs} | ${read} | ${slowestMs === undefined ? '–' : `${slowestMs.toFixed(1)} ms`} | ` +
      `${kept ?? '–'} | ${seed}, ${day} |`,
  )
  return [
    'Recorded runs; nothing else was thrown, and nothing took longer. "Slowest" was measured alongside other heavy work.',
    '',
    '| parser | inputs | read | slowest | kept for new code | seed, day |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
  ]
}

function formatSoakRun(soak: SoakReport): string[] {
  const errors = Object.entries(soak.errors).map(([what, count]) => `${count} × ${what}`)
  const rows = slopesOf(soak)
  const grew = grownIn(rows)
  return [
    `**${soak.minutes} minutes** on ${soak.startedAt.slice(0, 10)} at ` +
      `${Math.round(soak.share * 100)}% of ${soak.capacityPerSecond} requests/s: ${soak.requests} requests, ` +
      `${errors.join(', ') || 'no errors'}, ${soak.keys} keys, ${soak.violations.length} violations. ` +
      `${soak.note ?? ''}`.trim(),
    '',
    grew.length === 0
      ? 'No growth was found; where a row says “none shown”, the interval is too wide to rule it out.'
      : `Grew: ${grew.join('; ')}.`,
    '',
    '![memory, handles and latency over time](reliability/soak.svg)',
    '',
    formatSlopes(rows),
    '',
  ]
}
