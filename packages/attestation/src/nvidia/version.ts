/** Compares version numbers of NVIDIA's drivers (decimal) and VBIOS images (hex). */

export type VersionKind = 'driver' | 'vbios'

const forms: Readonly<Record<VersionKind, RegExp>> = {
  driver: /^\d{1,4}(\.\d{1,4}){1,3}$/,
  vbios: /^[0-9A-F]{2}(\.[0-9A-F]{2}){4}$/,
}

export const isVersion = (kind: VersionKind, text: string): boolean => forms[kind].test(text)

/** Compares part by part; a missing part counts as zero. */
export function isAtLeast(kind: VersionKind, version: string, minimum: string): boolean {
  const radix = kind === 'driver' ? 10 : 16
  const parts = version.split('.')
  const minimumParts = minimum.split('.')
  for (let index = 0; index < Math.max(parts.length, minimumParts.length); index++) {
    const part = Number.parseInt(parts[index] ?? '0', radix)
    const minimumPart = Number.parseInt(minimumParts[index] ?? '0', radix)
    if (part !== minimumPart) return part > minimumPart
  }
  return true
}
