/** What a fault is: something done to a running system, and undone. */
import type { Fleet } from './fleet/fleet.ts'
import type { Load } from './load/load.ts'
import type { Chance } from './random.ts'

export type Scene = {
  readonly fleet: Fleet
  readonly load: Load
  /** Decides everything that is left open. */
  readonly chance: Chance
  /** Says in the report what was chosen. */
  note(text: string): void
}

export type Fault = {
  readonly name: string
  readonly family: 'process' | 'connection' | 'packets' | 'disk' | 'clock' | 'trust' | 'client'
  /** How long it lasts. */
  readonly holdMs: number
  /** Within this after its end every client must have had a whole and right answer. */
  readonly limitMs: number
  /** A worker may lose reports of usage that nobody has acknowledged; the gateway then books `lost`. */
  readonly mayLoseReports?: boolean
  /** Errors that no client may see while it lasts. */
  readonly neverSeen?: RegExp
  /** Why it cannot be made here, or undefined. */
  obstacle?(fleet: Fleet): string | undefined
  /** Makes the fault; what it gives undoes it. */
  inject(scene: Scene): Promise<() => Promise<void> | void>
  /** What must hold afterwards beside the usual; gives violations. */
  check?(scene: Scene): Promise<readonly string[]>
}
