/** Exports: CSV cells (RFC 4180), and pages of text as a stream, so that any size needs little memory. */

/** Encodes pages as bytes; a reader that disconnects ends the queries. */
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
 * Spreadsheets would run a leading sign as a formula, and users choose names. If a spreadsheet
 * splits at semicolons or tabs, a cell begins after each of them.
 */
export function formatCell(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'number') return String(value)
  const text = String(value)
  const safe = text.replace(/(^|[;\t\r\n])(?=[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20])/g, "$1'")
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
