/**
 * The salt of a volume's hash tree, derived from its purpose, so that equal content has equal root
 * hashes.
 */
import { createHash } from 'node:crypto'

export function veritySalt(label: string): Uint8Array {
  const purpose = volumePurpose(label)
  return new Uint8Array(createHash('sha256').update(`privatemode/v1/verity\0${purpose}`).digest())
}

/** Weight volumes differ only in their labels, which are the host's names for disks. */
export const volumePurpose = (label: string): string => label.replace(/^weights-.*$/, 'weights')
