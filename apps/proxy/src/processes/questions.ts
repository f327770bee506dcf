/** What the supervisor and its serving processes ask each other. */
import type { Readiness } from '../trust/readiness.ts'
import type { Failure } from './failure.ts'
import type { HandedSettings } from './handed-settings.ts'

/** The command-line word that makes this program a serving process of another. */
export const servingWord = 'serving-process'

/** The state of one process, or of all together. */
export type Report = {
  readonly readiness: Readiness
  /** In Prometheus' text format. */
  readonly metrics: string
}

export type LentManifest = {
  readonly bytesBase64: string
  /** c2sp.org/tlog-proof, where the manifest is from a log. */
  readonly proofBase64: string | null
  /** When log and witnesses signed it as the latest, and until when that counts; null without a log. */
  readonly freshness: { readonly asOfMs: number; readonly staleAtMs: number } | null
}

/** Asked of the supervisor. */
export type ToSupervisor = {
  /** The first question of a process: what it is to serve. */
  readonly settings: { readonly asked: null; readonly answered: HandedSettings }
  readonly listening: { readonly asked: { readonly url: string }; readonly answered: null }
  /** It cannot serve, and why; it ends then. */
  readonly refused: { readonly asked: Failure; readonly answered: null }
  readonly ready: { readonly asked: null; readonly answered: null }
  /** The manifest in force, loaded anew. */
  readonly manifest: { readonly asked: null; readonly answered: LentManifest }
  readonly enforced: {
    readonly asked: { readonly digest: string; readonly atMs: number }
    readonly answered: null
  }
  /** The state of all processes together. */
  readonly joint: { readonly asked: null; readonly answered: Report }
}

/** Asked of a serving process. */
export type ToServing = {
  readonly report: { readonly asked: null; readonly answered: Report }
  /** Drain and end; answered at once. */
  readonly stop: { readonly asked: null; readonly answered: null }
}
