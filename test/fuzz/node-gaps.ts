/** What the runtime of the programs has and an older Node has not; imported first. */
type Gap = { toHex?: (this: Uint8Array) => string }

const bytes = Uint8Array.prototype as Gap
bytes.toHex ??= function (this: Uint8Array) {
  return Buffer.from(this).toString('hex')
}
