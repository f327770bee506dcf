/** The lines of a plot's grid: round numbers, the last of them above every value. */

const mostSteps = 5
/** Round steps within each power of ten. */
const round = [1, 2, 5, 10] as const

/** From zero up to the first line that no value exceeds; `whole` allows no line between two integers. */
export function gridLines(most: number, whole: boolean): readonly number[] {
  if (!(most > 0)) return [0, 1]
  const least = most / mostSteps
  const power = 10 ** Math.floor(Math.log10(least))
  const factor = round.find((each) => each * power >= least) ?? 10
  const step = whole ? Math.max(1, factor * power) : factor * power
  const steps = Math.ceil(most / step)
  return Array.from({ length: steps + 1 }, (_, index) => index * step)
}
