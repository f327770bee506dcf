/**
 * The workers and models that the gateway lists for clients. It is a hint: clients verify each
 * worker.
 */
import type { ModelObject } from '../api/index.ts'

export type Directory = {
  readonly workers: readonly DirectoryWorker[]
  readonly models: readonly ModelObject[]
}

export type DirectoryWorker = {
  readonly id: string
  readonly models: readonly string[]
  readonly seal_key_id: string
}
