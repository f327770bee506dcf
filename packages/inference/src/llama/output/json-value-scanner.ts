/** Finds the end of one JSON value in text that arrives in pieces. */

export class JsonValueScanner {
  #depth = 0
  #isInString = false
  #isEscaped = false
  #hasBegun = false
  isDone = false

  /** How many characters of the text belong to the value. */
  push(text: string): number {
    let at = 0
    for (const char of text) {
      if (this.isDone || (this.#isBareValue() && /[\s,}\]]/.test(char))) {
        this.isDone = true
        return at
      }
      this.#read(char)
      at += char.length
    }
    return at
  }

  /** A top-level number, true, false or null: only the next character shows that it has ended. */
  #isBareValue(): boolean {
    return this.#hasBegun && this.#depth === 0 && !this.#isInString
  }

  #read(char: string): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (char === '\\') this.#isEscaped = true
      else if (char === '"') {
        this.#isInString = false
        this.isDone = this.#depth === 0
      }
      return
    }
    if (char === '"') this.#isInString = true
    else if (char === '{' || char === '[') this.#depth++
    else if (char === '}' || char === ']') this.isDone = --this.#depth <= 0
    this.#hasBegun ||= char.trim() !== ''
  }
}
