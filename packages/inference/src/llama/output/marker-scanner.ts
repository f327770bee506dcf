/** Finds markers in text that arrives in pieces, and holds back what may become one. */

export type Scanned = {
  /** Text that is certainly before any marker. */
  readonly before: string
  /** The first marker found; the next push continues scanning after it. */
  readonly marker: string | undefined
  readonly after: string
}

export class MarkerScanner {
  #held = ''

  /** Scans for these markers; they may differ from call to call. */
  push(text: string, markers: readonly string[]): Scanned {
    const all = this.#held + text
    const found = firstMarker(all, markers)
    if (found !== undefined) {
      this.#held = ''
      const after = all.slice(found.at + found.marker.length)
      return { before: all.slice(0, found.at), marker: found.marker, after }
    }
    const held = possibleStart(all, markers)
    this.#held = all.slice(all.length - held)
    return { before: all.slice(0, all.length - held), marker: undefined, after: '' }
  }

  /** What was held back and did not become a marker. */
  end(): string {
    const held = this.#held
    this.#held = ''
    return held
  }
}

function firstMarker(
  text: string,
  markers: readonly string[],
): { at: number; marker: string } | undefined {
  let first: { at: number; marker: string } | undefined
  for (const marker of markers) {
    const at = text.indexOf(marker)
    if (at >= 0 && (first === undefined || at < first.at)) first = { at, marker }
  }
  return first
}

/** Length of the longest suffix of the text that is a prefix of some marker. */
function possibleStart(text: string, markers: readonly string[]): number {
  const longest = Math.max(0, ...markers.map((marker) => marker.length - 1))
  for (let length = Math.min(longest, text.length); length > 0; length--) {
    const end = text.slice(text.length - length)
    if (markers.some((marker) => marker.startsWith(end))) return length
  }
  return 0
}
