/** What a manifest demands of software evidence. */
import type { Fields } from '../fields.ts'

export type SoftwareRule = {
  /** Hex, 48 bytes each; any one of them is accepted. */
  readonly measurements: readonly string[]
  /** Hex SHA-256 of the root certificate; it must also be one of the client's roots. */
  readonly root: string
  readonly minimumTcb: number
}

export function readSoftwareRule(fields: Fields): SoftwareRule {
  return {
    measurements: fields.array('measurements', { min: 1, max: 64 }, (item) => {
      if (typeof item === 'string' && /^[0-9a-f]{96}$/.test(item)) return item
      return fields.refuse('measurements', 'expected 48 bytes in lower-case hex')
    }),
    root: fields.hex('root', 32),
    minimumTcb: fields.integer('minimum_tcb', { min: 0, max: 65_535 }),
  }
}
