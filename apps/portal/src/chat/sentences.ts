/** Splits a text that is still being written into sentences, which screen readers announce one by one. */

/** The complete sentences so far; with `ended`, also the unterminated rest. */
export function wholeSentences(text: string, ended: boolean): readonly string[] {
  const found = [...text.matchAll(/[^.!?\n]*(?:[.!?]+(?=\s|$)|[.!?]+(?=\S)|\n+|$)/g)].map(
    ([one]) => one,
  )
  const joined: string[] = []
  let open = ''
  for (const piece of found) {
    open += piece
    // A full stop inside a number, as in 3.14, ends nothing; at the end of the text so far, more may
    // follow.
    const isWhole = /[.!?]$/.test(piece) || piece.endsWith('\n')
    const end = joined.join('').length + open.length
    const next = text[end]
    if (!isWhole || (next !== undefined && !piece.endsWith('\n') && !/\s/.test(next))) continue
    if (next === undefined && !ended && !piece.endsWith('\n')) continue
    joined.push(open)
    open = ''
  }
  if (ended && open !== '') joined.push(open)
  return joined.map((one) => one.trim()).filter((one) => one !== '')
}
