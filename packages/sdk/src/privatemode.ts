/** The entry point of this package: a client with verifiers for all supported hardware. */
import { hardwareVerifiers } from '@privatemode/attestation'
import type { ConnectOptions } from './connect-options.ts'
import { CorePrivatemode } from './core-privatemode.ts'

/** A connection to a verified backend, with verifiers for all supported hardware. */
export class Privatemode extends CorePrivatemode {
  /** Resolves once a worker is verified; rejects with the reason if none could be. */
  static override connect(options: ConnectOptions): Promise<Privatemode> {
    // biome-ignore lint/complexity/noThisInStatic: `super` creates an instance of this class
    return super.connect({ ...options, hardware: hardwareVerifiers })
  }
}
