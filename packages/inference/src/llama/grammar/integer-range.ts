/** Rules for integers between two bounds, digit by digit. */

/** A rule body for all integers from `min` to `max`; undefined means unbounded. */
export function integerRange(min: number | undefined, max: number | undefined): string {
  if (min === undefined && max === undefined) return '"-"? ("0" | [1-9] [0-9]{0,15})'
  const parts: string[] = []
  if (min === undefined || min < 0) {
    const smallest = max === undefined || max >= 0 ? 1 : -max
    parts.push(`"-" (${naturals(smallest, min === undefined ? undefined : -min)})`)
  }
  if (max === undefined || max >= 0) parts.push(naturals(Math.max(0, min ?? 0), max))
  return parts.join(' | ')
}

const mostDigits = 16

/** All integers from `from` to `to`, neither of them negative. */
export function naturals(from: number, to: number | undefined): string {
  const low = String(from)
  if (to === undefined && low.length === mostDigits)
    return sameLength(low, '9'.repeat(mostDigits)).join(' | ')
  if (to === undefined) {
    const longer = `[1-9] [0-9]{${low.length},${mostDigits - 1}}`
    return `${naturals(from, 10 ** low.length - 1)} | ${longer}`
  }
  const high = String(to)
  const parts: string[] = []
  for (let digits = low.length; digits <= high.length; digits++) {
    const first = digits === low.length ? low : `1${'0'.repeat(digits - 1)}`
    const last = digits === high.length ? high : '9'.repeat(digits)
    parts.push(...sameLength(first, last))
  }
  return parts.join(' | ')
}

/** Numbers of the same length from `low` to `high`. */
function sameLength(low: string, high: string): string[] {
  if (low.length === 1) return [digitClass(low, high)]
  const [lowHead, lowRest] = [low.slice(0, 1), low.slice(1)]
  const [highHead, highRest] = [high.slice(0, 1), high.slice(1)]
  if (lowHead === highHead)
    return sameLength(lowRest, highRest).map((rest) => `"${lowHead}" ${group(rest)}`)
  const parts = []
  let from = Number(lowHead)
  let to = Number(highHead)
  const hasPartialLow = /[1-9]/.test(lowRest)
  const hasPartialHigh = /[0-8]/.test(highRest)
  if (hasPartialLow) {
    const upper = sameLength(lowRest, '9'.repeat(lowRest.length))
    parts.push(...upper.map((rest) => `"${lowHead}" ${group(rest)}`))
    from++
  }
  if (hasPartialHigh) {
    const lower = sameLength('0'.repeat(highRest.length), highRest)
    parts.push(...lower.map((rest) => `"${highHead}" ${group(rest)}`))
    to--
  }
  if (from <= to)
    parts.push(`${digitClass(String(from), String(to))} [0-9]{${lowRest.length},${lowRest.length}}`)
  return parts
}

const group = (body: string): string => (body.includes('|') ? `(${body})` : body)

const digitClass = (from: string, to: string): string =>
  from === to ? `"${from}"` : `[${from}-${to}]`
