/** Runs in the browser for `verify-worker.ts`: verifies the same worker repeatedly. */
import { parseBase64 } from '../packages/attestation/src/bytes.ts'
import { parseManifest } from '../packages/attestation/src/manifest/manifest.ts'
import { type VerifyWorkerInputs, verifyWorker } from '../packages/attestation/src/verify-worker.ts'

type Encoded = 'nonce' | 'statement' | 'manifest' | 'at' | 'software'

/** What the page fetches; byte strings are base64. */
export type PageInputs = Omit<VerifyWorkerInputs, Encoded> & {
  readonly nonce: string
  readonly statement: string
  readonly manifest: string
  readonly at: string
  readonly rounds: number
}

export type PageTimes = { readonly first: number; readonly later: readonly number[] }

// Where the benchmark looks for it; a script that it evaluates waits for the promise.
Object.assign(globalThis, { times: measure() })

async function measure(): Promise<PageTimes> {
  const page = (await (await fetch('/inputs.json')).json()) as PageInputs
  const manifest = await parseManifest(decode(page.manifest))
  const inputs: VerifyWorkerInputs = {
    ...page,
    nonce: decode(page.nonce),
    statement: decode(page.statement),
    manifest,
    at: new Date(page.at),
  }
  const once = async (): Promise<number> => {
    const started = performance.now()
    await verifyWorker(inputs)
    return performance.now() - started
  }
  const first = await once()
  const later: number[] = []
  for (let round = 0; round < page.rounds; round++) later.push(await once())
  return { first, later }
}

function decode(base64: string): Uint8Array {
  const bytes = parseBase64(base64)
  if (bytes === undefined) throw new Error('not base64')
  return bytes
}
