/** The questions that the supervisor and its serving processes ask each other. */
import type { Readiness } from '../trust/readiness.ts'
import type { Failure } from './failure.ts'
import type { HandedSettings } from './handed-settings.ts'

/** The command-line argument that makes this program a serving process. */
export const servingWord = 'serving-process'

/** The state of one process, or of all of them. */
export type Report = {
  readonly readiness: Readiness
  /** In Prometheus' text format. */
  readonly metrics: string
}

export type LentManifest = {
  readonly bytesBase64: string
  /** c2sp.org/tlog-proof, if the manifest comes from a log. */
  readonly proofBase64: string | null
  /** When log and witnesses signed it as the latest, and until when that is valid; null without a log. */
  readonly freshness: { readonly asOfMs: number; readonly staleAtMs: number } | null
}

/** Questions to the supervisor. */
export type ToSupervisor = {
  /** The first question of a process: its settings. */
  readonly settings: { readonly asked: null; readonly answered: HandedSettings }
  readonly listening: { readonly asked: { readonly url: string }; readonly answered: null }
  /** The process cannot serve, and why; it then exits. */
  readonly refused: { readonly asked: Failure; readonly answered: null }
  readonly ready: { readonly asked: null; readonly answered: null }
  /** The current manifest, freshly loaded. */
  readonly manifest: { readonly asked: null; readonly answered: LentManifest }
  readonly enforced: {
    readonly asked: { readonly digest: string; readonly atMs: number }
    readonly answered: null
  }
  /** The joint state of all processes. */
  readonly joint: { readonly asked: null; readonly answered: Report }
}

/** Questions to a serving process. */
export type ToServing = {
  readonly report: { readonly asked: null; readonly answered: Report }
  /** Drain and exit; answered immediately. */
  readonly stop: { readonly asked: null; readonly answered: null }
}
