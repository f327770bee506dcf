/** The `date` field (RFC 9110, 6.6.1), formatted once a second. */
let madeAtSecond = 0
let text = ''

export function formatDate(): string {
  const now = Date.now()
  const second = Math.floor(now / 1000)
  if (second !== madeAtSecond) {
    madeAtSecond = second
    text = new Date(now).toUTCString()
  }
  return text
}
