/** Formats a canary's report as text. */
import {
  type CanaryReport,
  type Comparison,
  type ProbeKind,
  significance,
} from '@privatemode/sdk/canary'

const names: Readonly<Partial<Record<ProbeKind, string>>> = {
  sameSalt: 'same salt',
  otherSalt: 'other salt',
  noSalt: 'no salt',
  otherKey: 'other key',
}

/** With fewer rounds, even the clearest difference is not significant. */
const fewestForTimes = Math.ceil(Math.log2(1 / significance))

export function formatReport(report: CanaryReport): string[] {
  const { verdict, basis, reason, rounds, promptTokens = '?', timesCanTell } = report
  const lines = [
    `${verdict.replace('-', ' ').toUpperCase()} (by ${basis}): ${reason}`,
    '',
    `${rounds} rounds${report.wasRepeated ? ', twice' : ''}; prompts of ${promptTokens} tokens`,
    row('repeated under', 'expected', 'hits', 'first token', 'new prompt', 'saved', 'p'),
    ...report.comparisons.map(formatComparison),
  ]
  if (timesCanTell) return lines
  const isShort = rounds < fewestForTimes
  const alike = 'Long and short prompts take too much alike for times to tell.'
  return [...lines, isShort ? `Times cannot tell in fewer than ${fewestForTimes} rounds.` : alike]
}

function formatComparison(one: Comparison): string {
  const ms = (value: number) => `${value.toFixed(1)} ms`
  return row(
    names[one.probe] ?? one.probe,
    one.expected,
    `${one.hits}/${one.of}`,
    ms(one.medianMs),
    ms(one.newPromptMedianMs),
    `${Math.round(100 * one.saved)} %`,
    one.chance < 0.0001 ? '<0.0001' : one.chance.toFixed(4),
  )
}

const row = (...cells: readonly string[]) =>
  cells.map((cell, column) => (column < 2 ? cell.padEnd(15) : cell.padStart(12))).join('')
