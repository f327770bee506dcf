/** Draws how well each topic was recognised, one point for each traffic shape. */
import type { Judged, SetResult } from './results.ts'

const colours = { off: '#b3261e', default: '#1f5fbf', strict: '#1a7f37' } as const
const row = 18
const left = 150
const plotWidth = 520
const top = 46

export function plotTopics(set: SetResult): string {
  const order = set.off?.topics.trees.topics.map(({ topic }) => topic) ?? []
  const height = top + order.length * row + 40
  const x = (area: number) => left + area * plotWidth
  const parts = [0, 0.25, 0.5, 0.75, 1].map(
    (area) =>
      `<line x1="${x(area)}" x2="${x(area)}" y1="${top - 8}" y2="${height - 36}" stroke="#ddd"/>` +
      `<text x="${x(area)}" y="${height - 20}" text-anchor="middle">${area}</text>`,
  )
  const baseRate = set.off?.topics.baseRate ?? 0
  parts.push(
    `<line x1="${x(baseRate)}" x2="${x(baseRate)}" y1="${top - 8}" y2="${height - 36}" stroke="#555" stroke-dasharray="4 3"/>`,
    `<text x="${x(baseRate)}" y="${height - 6}" text-anchor="middle">base rate</text>`,
  )
  for (const [index, topic] of order.entries()) {
    const y = top + index * row + 4
    parts.push(`<text x="${left - 10}" y="${y + 4}" text-anchor="end">${topic}</text>`)
    for (const [mode, colour] of Object.entries(colours)) {
      const result = set[mode as keyof typeof colours]?.topics
      if (result === undefined) continue
      const area = Math.max(areaOf(result.trees, topic), areaOf(result.network, topic))
      parts.push(`<circle cx="${x(area).toFixed(1)}" cy="${y}" r="4.5" fill="${colour}"/>`)
    }
  }
  const legend = Object.entries(colours).map(
    ([mode, colour], index) =>
      `<circle cx="${left + index * 90}" cy="16" r="5" fill="${colour}"/><text x="${left + 10 + index * 90}" y="20">${mode}</text>`,
  )
  const title = 'Area under the precision-recall curve for each topic, better of two classifiers'
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${left + plotWidth + 30} ${height}" font-family="sans-serif" font-size="12" role="img" aria-label="${title}">`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    ...legend,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

const areaOf = (judged: Judged, name: string) =>
  judged.topics.find(({ topic }) => topic === name)?.area ?? 0
