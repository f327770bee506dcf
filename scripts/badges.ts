/** The badges of the README, drawn from what this checkout says about itself; a release fills them in. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '../packages/sdk/bundle-size.ts'

type Badge = { readonly label: string; readonly value: string; readonly colour: string }

const [quiet, good, waiting] = ['#2f5d8a', '#146c43', '#8a4b00']
const height = 20
const letterWidth = 6.7
const padding = 8

/** The newest entry of the changelog: its version, and its date once it is released. */
function release(changelog: string): Badge {
  const [, version = '', state = ''] = /^## (\S+) \((.+)\)$/m.exec(changelog) ?? []
  const isReleased = /^\d{4}-\d\d-\d\d$/.test(state)
  return { label: 'release', value: `${version}, ${state}`, colour: isReleased ? good : waiting }
}

export function formatBadges(root: string): string {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const { license, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const coreKb = (limits.core.budget / 1000).toFixed(0)
  const badges: Badge[] = [
    release(changelog),
    { label: 'licence', value: license, colour: quiet },
    { label: 'node', value: engines.node, colour: quiet },
    { label: 'SDK core', value: `under ${coreKb} kB gzipped`, colour: good },
  ]
  let x = 0
  const drawn = badges.map(({ label, value, colour }) => {
    const [first, second] = [widthOf(label), widthOf(value)]
    const text =
      part(x, first, '#454c59', label) + part(x + first, second, colour, escapeXml(value))
    x += first + second + padding
    return text
  })
  const title = badges.map(({ label, value }) => `${label}: ${value}`).join('; ')
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${x - padding}" height="${height}" role="img" aria-label="${escapeXml(title)}" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" fill="#fff" text-anchor="middle">\n${drawn.join('')}</svg>\n`
}

const widthOf = (text: string): number => Math.ceil(text.length * letterWidth) + 2 * padding

function part(x: number, width: number, colour: string, text: string): string {
  return `<rect x="${x}" width="${width}" height="${height}" fill="${colour}"/><text x="${x + width / 2}" y="14" textLength="${width - 2 * padding}">${text}</text>\n`
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
