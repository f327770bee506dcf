/** The statement of a worker without models, for tests in which only its keys matter. */
import type { StatementFacts } from '../sealed/seal-keys.ts'

export const statementFacts: StatementFacts = {
  workerId: 'w_1',
  receiptKey: new Uint8Array(32),
  models: [],
  engine: 'none',
  build: 'none',
}
