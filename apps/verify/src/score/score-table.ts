/** The table of docs/scorecard.md: our verdicts next to those published about others. */
import published from './published-verdicts.json' with { type: 'json' }
import type { Score } from './score-bundle.ts'

export type OurScores = { readonly snp: Score; readonly tdx: Score; readonly software: Score }

const signs: Readonly<Record<string, string>> = {
  met: 'yes',
  'not met': '**no**',
  'not checked': 'not checked',
  'not applicable': '–',
}

/** One line per factor; providers in the order of the file. */
export function formatScoreTable({ snp, tdx, software }: OurScores): string {
  const head = ['', 'factor', 'SNP', 'TDX', 'trial', ...published.providers.map(({ name }) => name)]
  const rows = snp.factors.map(({ factor }, index) => [
    String(index + 1),
    `\`${factor}\``,
    ...[snp, tdx, software].map(({ factors }) => signs[factors[index]?.verdict ?? ''] ?? ''),
    ...published.providers.map(({ verdicts }) => verdicts[index] ?? ''),
  ])
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
