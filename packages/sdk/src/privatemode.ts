/** The entry of this package: a client with the verifiers of all protected hardware. */
import { hardwareVerifiers } from '@privatemode/attestation'
import type { ConnectOptions } from './connect-options.ts'
import { CorePrivatemode } from './core-privatemode.ts'

export class Privatemode extends CorePrivatemode {
  /** Resolves when a worker was verified; rejects with the reason where none could be. */
  static override connect(options: ConnectOptions): Promise<Privatemode> {
    // biome-ignore lint/complexity/noThisInStatic: `super` makes an object of this class
    return super.connect({ ...options, hardware: hardwareVerifiers })
  }
}
