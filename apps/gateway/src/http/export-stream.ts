/** Exports: cells of CSV (RFC 4180), and pages of text as a stream, so that any size needs little memory. */

/** Pages as bytes; a reader that goes away ends the queries behind them. */
export function streamPages(pages: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pages.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await pages.return(undefined)
    },
  })
}

/**
 * A leading sign would be a formula to a spreadsheet: names are chosen by users. Where a spreadsheet cuts
 * at semicolons or tabs, a cell begins behind each of them.
 */
export function formatCell(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'number') return String(value)
  const text = String(value)
  const safe = text.replace(/(^|[;\t\r\n])(?=[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20])/g, "$1'")
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
