/** Draws the series of a soak run: memory, handles and latency over time, one panel each. */
import type { Series } from '../../test/soak/record.ts'
import type { SoakReport } from '../../test/soak/soak-report.ts'

type Line = { readonly name: string; readonly series: Series }

const width = 900
const panel = { height: 200, left: 60, right: 150, top: 28, bottom: 24 }
const colours = [
  '#4477aa',
  '#ee6677',
  '#228833',
  '#ccbb44',
  '#66ccee',
  '#aa3377',
  '#777777',
  '#000000',
]

export function drawSoak(report: SoakReport): string {
  const processes = (what: string): Line[] =>
    Object.entries(report.processes).flatMap(([name, all]) => {
      const series = all[what]
      return series === undefined ? [] : [{ name, series }]
    })
  const latency: Line[] = Object.entries(report.latency).map(([name, series]) => ({ name, series }))
  const panels: [string, Line[]][] = [
    ['memory, MiB', processes('rssMib')],
    ['open handles', processes('handles').filter(({ name }) => name !== 'load generator')],
    ['latency, ms', latency],
  ]
  const height = panels.length * panel.height
  const drawn = panels.map(([title, lines], index) =>
    drawPanel(title, lines, index * panel.height, report.minutes),
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...drawn,
    '</svg>\n',
  ].join('\n')
}

function drawPanel(title: string, lines: readonly Line[], y: number, minutes: number): string {
  const most = Math.max(1, ...lines.flatMap(({ series }) => series.values)) * 1.05
  const right = width - panel.right
  const bottom = y + panel.height - panel.bottom
  const top = y + panel.top
  const atX = (minute: number) => panel.left + (minute / minutes) * (right - panel.left)
  const atY = (value: number) => bottom - (value / most) * (bottom - top)
  const text = (x: number, at: number, words: string, more = '') =>
    `<text x="${x}" y="${at.toFixed(1)}" fill="#333333"${more}>${words}</text>`
  const marks = [0, 0.5, 1].map((share) => {
    const value = most * share
    const line = `<line x1="${panel.left}" x2="${right}" y1="${atY(value).toFixed(1)}" y2="${atY(value).toFixed(1)}" stroke="#dddddd"/>`
    return line + text(panel.left - 6, atY(value) + 4, value.toFixed(0), ' text-anchor="end"')
  })
  const times = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    text(
      atX(minutes * share),
      bottom + 14,
      `${(minutes * share).toFixed(0)} min`,
      ' text-anchor="middle"',
    ),
  )
  const drawn = lines.map(({ name, series }, index) => {
    const colour = colours[index % colours.length] ?? '#000000'
    const points = series.minutes.map((minute, at) => {
      return `${atX(minute).toFixed(1)},${atY(series.values[at] ?? 0).toFixed(1)}`
    })
    const label = top + 10 + index * 14
    return (
      `<polyline fill="none" stroke="${colour}" stroke-width="1.3" points="${points.join(' ')}"/>` +
      `<line x1="${right + 10}" x2="${right + 26}" y1="${label - 4}" y2="${label - 4}" stroke="${colour}" stroke-width="2"/>` +
      text(right + 32, label, name)
    )
  })
  return [
    text(panel.left, y + 16, title, ' font-weight="bold"'),
    ...marks,
    ...times,
    ...drawn,
  ].join('\n')
}
