/** Checks that node:http parses every request our server accepts as the same request. */
import { makeInput, methods, seededRandom } from './damaged-requests.ts'
import { type ReadRequest, readRequests } from './read-requests.ts'

export type FuzzOptions = { readonly inputs: number; readonly seed: number; readonly node: boolean }

export type FuzzReport = {
  readonly inputs: number
  /** Inputs with at least one accepted request. */
  readonly accepted: number
  readonly compared: number
}

const batchInputs = 200

/** Throws at the first difference, with the input in the message. */
export async function fuzzHttp(options: FuzzOptions): Promise<FuzzReport> {
  const random = seededRandom(options.seed)
  const reader = options.node ? startReader() : undefined
  let accepted = 0
  try {
    for (let done = 0; done < options.inputs; done += batchInputs) {
      const batch: Taken[] = []
      for (let count = Math.min(batchInputs, options.inputs - done); count > 0; count--) {
        const bytes = makeInput(random)
        const requests = readRequests(bytes)
        checkCuts(bytes, requests, random)
        if (requests.length > 0) batch.push({ bytes, requests })
      }
      accepted += batch.length
      if (reader !== undefined) await compare(batch, await reader.read(batch))
    }
  } finally {
    reader?.stop()
  }
  return { inputs: options.inputs, accepted, compared: reader === undefined ? 0 : accepted }
}

type Taken = { readonly bytes: Uint8Array; readonly requests: readonly ReadRequest[] }

/** The same bytes split anywhere in two, and occasionally into single bytes. */
function checkCuts(bytes: Uint8Array, whole: readonly ReadRequest[], random: () => number): void {
  const everywhere = random() < 0.02
  const cuts = everywhere
    ? Array.from({ length: bytes.length }, (_, at) => at)
    : [Math.floor(random() * bytes.length)]
  same(bytes, whole, readRequests(bytes, cuts), 'cut into pieces')
}

function compare(batch: readonly Taken[], answers: readonly (readonly ReadRequest[])[]): void {
  for (const [index, { bytes, requests }] of batch.entries()) {
    // Node refuses methods it does not know; for us methods are a matter of routing, not framing.
    const strange = requests.findIndex(({ method }) => !methods.includes(method))
    const ours = strange < 0 ? requests : requests.slice(0, strange)
    const theirs = (answers[index] ?? []).slice(0, ours.length).map(joinFields)
    same(bytes, ours, theirs, 'read by node:http')
  }
}

function same(
  bytes: Uint8Array,
  ours: readonly ReadRequest[],
  theirs: readonly ReadRequest[],
  what: string,
): void {
  if (JSON.stringify(ours) === JSON.stringify(theirs)) return
  const input = JSON.stringify(Buffer.from(bytes).toString('latin1'))
  throw new Error(
    `${input}\n${what} is a different request:\n${JSON.stringify(ours)}\n${JSON.stringify(theirs)}`,
  )
}

/** Repeated fields as we join them. */
function joinFields(request: ReadRequest): ReadRequest {
  const joined = new Map<string, string>()
  for (const [name, value] of request.fields) {
    const trimmed = value.replace(/^[ \t]+|[ \t]+$/g, '')
    const before = joined.get(name)
    joined.set(
      name,
      before === undefined ? trimmed : `${before}${name === 'cookie' ? '; ' : ', '}${trimmed}`,
    )
  }
  return { ...request, fields: [...joined] }
}

function startReader() {
  const child = Bun.spawn(['node', `${import.meta.dir}/node-reader.mjs`], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const lines = linesOf(child.stdout)
  return {
    async read(batch: readonly Taken[]): Promise<ReadRequest[][]> {
      for (const { bytes } of batch) {
        const length = Buffer.alloc(4)
        length.writeUInt32BE(bytes.length)
        child.stdin.write(Buffer.concat([length, bytes]))
      }
      await child.stdin.flush()
      const answers: ReadRequest[][] = []
      while (answers.length < batch.length) {
        const { value, done } = await lines.next()
        if (done) throw new Error('node has ended')
        answers.push(JSON.parse(value) as ReadRequest[])
      }
      return answers
    },
    stop: () => child.kill(),
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true })
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    yield* lines
  }
  return undefined
}
