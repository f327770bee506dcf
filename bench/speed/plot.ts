/** Bar charts as SVG, drawn by hand: no script, no font, readable on light and dark pages. */

export type Bar = {
  readonly label: string
  readonly value: number
  readonly least: number
  readonly most: number
  readonly isOurs: boolean
}

const width = 760
const labelWidth = 190
const valueWidth = 110
const rowHeight = 28
const top = 44

/** Horizontal bars on a logarithmic scale, since nginx and Python are far apart. */
export function drawBars(title: string, unit: string, bars: readonly Bar[]): string {
  const shown = bars.filter(({ value }) => value > 0)
  const lowest = Math.floor(
    Math.log10(Math.min(...shown.map(({ least, value }) => least || value))),
  )
  const highest = Math.ceil(Math.log10(Math.max(...shown.map(({ most }) => most)) * 1.05))
  const span = width - labelWidth - valueWidth
  const x = (value: number) =>
    labelWidth + (span * (Math.log10(value) - lowest)) / Math.max(1, highest - lowest)
  const height = top + rowHeight * shown.length + 26
  const lines: string[] = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeText(title)}">`,
    '<style>text{font:13px system-ui,sans-serif;fill:#444}.t{font-weight:600;font-size:15px}.g{stroke:#8885;stroke-width:1}.o{fill:#0a7d5a}.p{fill:#8a94a6}.s{stroke:#222;stroke-width:1.5}@media(prefers-color-scheme:dark){text{fill:#ccc}.s{stroke:#eee}}</style>',
    `<text class="t" x="8" y="22">${escapeText(title)}</text>`,
  ]
  for (let power = lowest; power <= highest; power++) {
    const at = x(10 ** power).toFixed(1)
    lines.push(`<line class="g" x1="${at}" y1="${top - 8}" x2="${at}" y2="${height - 22}"/>`)
    lines.push(
      `<text x="${at}" y="${height - 6}" text-anchor="middle">${short(10 ** power)}</text>`,
    )
  }
  for (const [row, bar] of shown.entries()) {
    const y = top + row * rowHeight
    const middle = y + rowHeight / 2 - 3
    const end = x(bar.value).toFixed(1)
    const length = Math.max(1, x(bar.value) - labelWidth).toFixed(1)
    lines.push(
      `<text x="${labelWidth - 8}" y="${middle + 5}" text-anchor="end">${escapeText(bar.label)}</text>`,
      `<rect class="${bar.isOurs ? 'o' : 'p'}" x="${labelWidth}" y="${y}" width="${length}" height="${rowHeight - 8}" rx="2"/>`,
      `<line class="s" x1="${x(bar.least || bar.value).toFixed(1)}" y1="${middle}" x2="${x(bar.most).toFixed(1)}" y2="${middle}"/>`,
      `<text x="${Number(end) + 8}" y="${middle + 5}">${short(bar.value)} ${escapeText(unit)}</text>`,
    )
  }
  return `${lines.join('\n')}\n</svg>\n`
}

export function short(value: number): string {
  if (value >= 1e6) return `${trim(value / 1e6)}M`
  if (value >= 1e4) return `${trim(value / 1e3)}k`
  return trim(value)
}

function trim(value: number): string {
  if (value === 0) return '0'
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  const text = value.toFixed(Math.min(6, digits))
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
