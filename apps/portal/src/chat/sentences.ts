/** Splits a text that is still being written into sentences, which screen readers announce one by one. */

/** Reads a growing text; what was read before is not read again. */
export class SentenceReader {
  #text = ''
  /** Where the unfinished sentence starts, and from where it has yet to be read. */
  #start = 0
  #at = 0
  #whole: readonly string[] = []

  /** The complete sentences so far, the same list while there are no more; with `ended`, also the rest. */
  read(text: string, ended: boolean): readonly string[] {
    if (!text.startsWith(this.#text)) {
      this.#start = this.#at = 0
      this.#whole = []
    }
    this.#text = text
    const added = this.#readOn(ended)
    if (added.length > 0) this.#whole = [...this.#whole, ...added]
    const rest = ended ? text.slice(this.#start).trim() : ''
    return rest === '' ? this.#whole : [...this.#whole, rest]
  }

  #readOn(ended: boolean): string[] {
    const added: string[] = []
    const mark = /[.!?]+|\n+/g
    mark.lastIndex = this.#at
    for (let found = mark.exec(this.#text); found !== null; found = mark.exec(this.#text)) {
      const next = this.#text[mark.lastIndex]
      const isLineEnd = found[0].startsWith('\n')
      if (next === undefined && !ended && !isLineEnd) {
        this.#at = found.index // more may follow
        return added
      }
      this.#at = mark.lastIndex
      // A full stop inside a number, as in 3.14, ends nothing.
      if (!isLineEnd && next !== undefined && !/\s/.test(next)) continue
      const sentence = this.#text.slice(this.#start, this.#at).trim()
      if (sentence !== '') added.push(sentence)
      this.#start = this.#at
    }
    this.#at = this.#text.length
    return added
  }
}
