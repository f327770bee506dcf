/** Reads from Bun's output which tests were skipped, and why: each has `(skipped: REASON)` in its name. */

/** One readable line per reason, and the names of tests that were skipped without one. */
export function explainSkipped(output) {
  const found = output.match(/^\(skip\) .*$/gm) ?? [] // Bun repeats them at the end of a long run
  const names = [...new Set(found)].map((line) => line.slice(7))
  const byReason = new Map()
  const unexplained = []
  for (const name of names) {
    const [, group, reason] = /^(.*?) \(skipped: (.*?)\)(?: >|$| \[)/.exec(name) ?? []
    if (reason === undefined) {
      unexplained.push(name)
      continue
    }
    const groups = byReason.get(reason) ?? new Map()
    groups.set(group, (groups.get(group) ?? 0) + 1)
    byReason.set(reason, groups)
  }
  const lines = [...byReason].map(([reason, groups]) => {
    const skipped = [...groups].map(([group, count]) => (count > 1 ? `${group} (${count})` : group))
    return `skipped (${reason}): ${skipped.join('; ')}`
  })
  return { lines, unexplained, count: found.length }
}
