/** What every group of rows gets to work with. */
import type { Rows } from '../confined/rows.ts'
import type { Cluster } from './cluster.ts'
import type { Page } from './page.ts'

export type Scene = {
  readonly cluster: Cluster
  readonly rows: Rows
  readonly page: Page
  /** Requests under which each part is rolled out. */
  readonly requests: number
  readonly rollouts: number
  /** None: a stand-in answers what it is told to. */
  readonly vllmVersion: string | undefined
  /** Some groups were left out. */
  readonly isPart: boolean
}
