/** How much memory a session uses in a worker: `node scripts/run.mjs bench/session-memory.ts`. */
import { SealKeys } from '../apps/worker/src/sealed/seal-keys.ts'
import { statementFacts } from '../apps/worker/src/testing/statement-facts.ts'

const perRound = 3_000
const keys = new SealKeys(statementFacts, () => new Date())
const sealKeyId = new Uint8Array(Buffer.from((await keys.current()).id, 'hex'))

/** Any encapsulation of the right length gives a secret, and so a session. */
async function openSessions(count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    await keys.findSecret(sealKeyId, crypto.getRandomValues(new Uint8Array(1120)))
}

function residentBytes(): number {
  Bun.gc(true)
  return process.memoryUsage().rss
}

await openSessions(1_000)
let before = residentBytes()
for (let round = 0; round < 4; round++) {
  await openSessions(perRound)
  const after = residentBytes()
  console.log(`${perRound} more sessions: ${Math.round((after - before) / perRound)} bytes each`)
  before = after
}
