/** Polyfills for features that Bun has and an older Node lacks; imported first. */
type Gap = { toHex?: (this: Uint8Array) => string }
type StaticGap = { fromHex?: (text: string) => Uint8Array }

const bytes = Uint8Array.prototype as Gap
bytes.toHex ??= function (this: Uint8Array) {
  return Buffer.from(this).toString('hex')
}
const ofBytes = Uint8Array as unknown as StaticGap
ofBytes.fromHex ??= (text) => new Uint8Array(Buffer.from(text, 'hex'))
