/** A fault: something done to a running system, and undone. */
import type { Fleet } from './fleet/fleet.ts'
import type { Load } from './load/load.ts'
import type { Chance } from './random.ts'

export type Scene = {
  readonly fleet: Fleet
  readonly load: Load
  /** Makes all random choices. */
  readonly chance: Chance
  /** Describes the choice in the report. */
  note(text: string): void
}

export type Fault = {
  readonly name: string
  readonly family: 'process' | 'connection' | 'packets' | 'disk' | 'clock' | 'trust' | 'client'
  /** How long it lasts. */
  readonly holdMs: number
  /** Within this time after its end, every client must have received a complete and correct answer. */
  readonly limitMs: number
  /** A worker may lose usage reports that were not acknowledged; the gateway then books `lost`. */
  readonly mayLoseReports?: boolean
  /** Errors that no client may see while it lasts. */
  readonly neverSeen?: RegExp
  /** Why it cannot be injected here, or undefined. */
  obstacle?(fleet: Fleet): string | undefined
  /** Injects the fault; returns a function that undoes it. */
  inject(scene: Scene): Promise<() => Promise<void> | void>
  /** Additional conditions that must hold afterwards; returns violations. */
  check?(scene: Scene): Promise<readonly string[]>
}
