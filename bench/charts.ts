/** Bar, dot and line charts as SVG: no script, no font, readable on light and dark pages. */

export type Bar = {
  readonly label: string
  readonly value: number
  readonly least: number
  readonly most: number
  readonly isOurs: boolean
}

/** One row of dots; a series without a value for the row has no dot in it. */
export type DotRow = { readonly label: string; readonly values: Readonly<Record<string, number>> }

export type Curve = {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

export type Panel = { readonly title: string; readonly curves: readonly Curve[] }

const palette = ['#4477aa', '#ee6677', '#228833', '#ccbb44', '#66ccee', '#aa3377', '#777', '#999']

/** Horizontal bars on a logarithmic scale, since nginx and Python are far apart. */
export function drawBars(title: string, unit: string, bars: readonly Bar[]): string {
  const width = 760
  const left = 190
  const right = 110
  const rowHeight = 28
  const top = 44
  const shown = bars.filter(({ value }) => value > 0)
  const lowest = Math.floor(
    Math.log10(Math.min(...shown.map(({ least, value }) => least || value))),
  )
  const highest = Math.ceil(Math.log10(Math.max(...shown.map(({ most }) => most)) * 1.05))
  const x = (value: number) =>
    left + ((width - left - right) * (Math.log10(value) - lowest)) / Math.max(1, highest - lowest)
  const height = top + rowHeight * shown.length + 26
  const parts = [text(8, 22, title, 'heading')]
  for (let power = lowest; power <= highest; power++) {
    const at = x(10 ** power)
    parts.push(line(at, top - 8, at, height - 22, 'grid'))
    parts.push(text(at, height - 6, short(10 ** power), 'middle'))
  }
  for (const [row, { label, value, least, most, isOurs }] of shown.entries()) {
    const y = top + row * rowHeight
    const middle = y + rowHeight / 2 - 3
    const length = Math.max(1, x(value) - left)
    parts.push(
      text(left - 8, middle + 5, label, 'end'),
      `<rect class="${isOurs ? 'ours' : 'peer'}" x="${left}" y="${y}" width="${length.toFixed(1)}" height="${rowHeight - 8}" rx="2"/>`,
      line(x(least || value), middle, x(most), middle, 'spread'),
      text(x(value) + 8, middle + 5, `${short(value)} ${unit}`),
    )
  }
  return drawing(title, width, height, parts)
}

/** Values from 0 to 1, a row for each label and a colour for each series; `mark` is a dashed line. */
export function drawDots(
  title: string,
  series: Readonly<Record<string, string>>,
  rows: readonly DotRow[],
  mark: { readonly label: string; readonly value: number },
): string {
  const left = 150
  const plotWidth = 520
  const rowHeight = 18
  const top = 46
  const height = top + rows.length * rowHeight + 40
  const x = (value: number) => left + value * plotWidth
  const parts: string[] = []
  for (const [index, [name, colour]] of Object.entries(series).entries()) {
    parts.push(dot(left + index * 90, 16, colour), text(left + 10 + index * 90, 20, name))
  }
  for (const value of [0, 0.25, 0.5, 0.75, 1]) {
    parts.push(line(x(value), top - 8, x(value), height - 36, 'grid'))
    parts.push(text(x(value), height - 20, String(value), 'middle'))
  }
  parts.push(line(x(mark.value), top - 8, x(mark.value), height - 36, 'mark'))
  parts.push(text(x(mark.value), height - 6, mark.label, 'middle'))
  for (const [index, { label, values }] of rows.entries()) {
    const y = top + index * rowHeight + 4
    parts.push(text(left - 10, y + 4, label, 'end'))
    for (const [name, colour] of Object.entries(series)) {
      const value = values[name]
      if (value !== undefined) parts.push(dot(x(value), y, colour))
    }
  }
  return drawing(title, left + plotWidth + 30, height, parts)
}

/** Curves over minutes, one panel below the other, each with its own scale and legend. */
export function drawPanels(title: string, minutes: number, panels: readonly Panel[]): string {
  const width = 900
  const panelHeight = 200
  const left = 60
  const right = width - 150
  const parts = panels.flatMap(({ title: heading, curves }, index) => {
    const top = index * panelHeight + 28
    const bottom = (index + 1) * panelHeight - 24
    const most = Math.max(1, ...curves.flatMap(({ points }) => points.map(([, y]) => y))) * 1.05
    const atX = (minute: number) => left + (minute / minutes) * (right - left)
    const atY = (value: number) => bottom - (value / most) * (bottom - top)
    const drawn = [text(left, top - 12, heading, 'heading')]
    for (const value of [0, most / 2, most]) {
      drawn.push(line(left, atY(value), right, atY(value), 'grid'))
      drawn.push(text(left - 6, atY(value) + 4, value.toFixed(0), 'end'))
    }
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const minute = minutes * share
      drawn.push(text(atX(minute), bottom + 14, `${minute.toFixed(0)} min`, 'middle'))
    }
    for (const [place, { name, points }] of curves.entries()) {
      const colour = palette[place % palette.length] ?? '#777'
      const path = points.map(([x, y]) => `${atX(x).toFixed(1)},${atY(y).toFixed(1)}`).join(' ')
      const label = top + 10 + place * 14
      drawn.push(
        `<polyline fill="none" stroke="${colour}" stroke-width="1.3" points="${path}"/>`,
        dot(right + 18, label - 4, colour),
        text(right + 32, label, name),
      )
    }
    return drawn
  })
  return drawing(title, width, panels.length * panelHeight, parts)
}

/** A number with three significant digits, as labels and tables show it. */
export function short(value: number): string {
  if (value >= 1e6) return `${trim(value / 1e6)}M`
  if (value >= 1e4) return `${trim(value / 1e3)}k`
  return trim(value)
}

function trim(value: number): string {
  if (value === 0) return '0'
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  const shown = value.toFixed(Math.min(6, digits))
  return shown.includes('.') ? shown.replace(/\.?0+$/, '') : shown
}

const style =
  'text{font:12px system-ui,sans-serif;fill:#444}.heading{font-weight:600;font-size:14px}' +
  '.middle{text-anchor:middle}.end{text-anchor:end}.grid{stroke:#8885}' +
  '.mark{stroke:#777;stroke-dasharray:4 3}.spread{stroke:#222;stroke-width:1.5}' +
  '.ours{fill:#0a7d5a}.peer{fill:#8a94a6}' +
  '@media(prefers-color-scheme:dark){text{fill:#ccc}.spread{stroke:#eee}}'

const drawing = (title: string, width: number, height: number, parts: readonly string[]): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeText(title)}">`,
    `<style>${style}</style>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')

const text = (x: number, y: number, words: string, kind = ''): string =>
  `<text${kind === '' ? '' : ` class="${kind}"`} x="${x.toFixed(1)}" y="${y.toFixed(1)}">${escapeText(words)}</text>`

const line = (x1: number, y1: number, x2: number, y2: number, kind: string): string =>
  `<line class="${kind}" x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}"/>`

const dot = (x: number, y: number, colour: string): string =>
  `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="4.5" fill="${colour}"/>`

const escapeText = (words: string): string =>
  words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
