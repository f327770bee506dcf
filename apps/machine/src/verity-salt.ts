/** The salt of a volume's hash tree: fixed by what the volume is for, so that equal content has an equal root hash everywhere. */
import { createHash } from 'node:crypto'

export function veritySalt(label: string): Uint8Array {
  const purpose = volumePurpose(label)
  return new Uint8Array(createHash('sha256').update(`privatemode/v1/verity\0${purpose}`).digest())
}

/** Volumes of weights differ in their labels alone, which are the host's names for disks. */
export const volumePurpose = (label: string): string => label.replace(/^weights-.*$/, 'weights')
