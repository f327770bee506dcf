/**
 * One attestation report through configfs-tsm, made for one input, with concurrent writers
 * detected.
 */
import { randomBytes } from 'node:crypto'
import type { Bytes } from '@privatemode/protocol/envelope'
import { WorkerError } from '../../worker-error.ts'
import { Turns } from '../turns.ts'
import type { ReportAttribute, ReportTree } from './report-tree.ts'

export type TsmReport = {
  /** The provider, `sev_guest` or `tdx_guest`, which determines the format of the rest. */
  readonly provider: string
  readonly outblob: Bytes
  /** Additional data from the host, such as certificates; may be empty. */
  readonly auxblob: Bytes
}

export type TsmLimits = { readonly timeoutMs: number }

const inblobBytes = 64
/** TSM_REPORT_OUTBLOB_MAX in the kernel. */
const blobBytes = 32 * 1024
const textBytes = 64

export class TsmReports {
  readonly tree: ReportTree
  readonly #turns: Turns

  /** The kernel makes one report at a time; a second entry keeps it busy. */
  constructor(tree: ReportTree, { timeoutMs }: TsmLimits) {
    this.tree = tree
    const named = { what: 'a report of the processor', code: 'report_unavailable' } as const
    this.#turns = new Turns({ ...named, atOnce: 2, waiting: 32, timeoutMs })
  }

  read(inblob: Uint8Array): Promise<TsmReport> {
    if (inblob.length !== inblobBytes) {
      const seen = `input has ${inblob.length} bytes, expected ${inblobBytes}`
      throw new WorkerError('report_unavailable', seen)
    }
    return this.#turns.run(() => this.#readEntry(inblob))
  }

  /** The provider that would make reports here; creates an entry but no report. */
  async provider(): Promise<string> {
    return await this.#turns.run(() =>
      this.#withEntry((entry) => readText(this.tree, entry, 'provider')),
    )
  }

  async #readEntry(inblob: Uint8Array): Promise<TsmReport> {
    return await this.#withEntry(async (entry) => {
      const { tree } = this
      const before = await readGeneration(tree, entry)
      const writes = (await choosePrivilege(tree, entry)) + 1
      await tree.write(entry, 'inblob', inblob)
      const outblob = await tree.read(entry, 'outblob', blobBytes)
      const auxblob = await readOptional(tree, entry, 'auxblob')
      const provider = await readText(tree, entry, 'provider')
      // Each write counts once (Documentation/ABI/testing/configfs-tsm-report): any other number means
      // that the report may cover an input other than ours.
      const after = await readGeneration(tree, entry)
      const expected = before + BigInt(writes)
      if (after !== expected) {
        throw new WorkerError(
          'report_conflict',
          `generation is ${after}, expected ${expected}: another program wrote to our entry`,
        )
      }
      return { provider, outblob, auxblob }
    })
  }

  async #withEntry<T>(work: (entry: string) => Promise<T>): Promise<T> {
    const entry = `privatemode-${randomBytes(12).toString('hex')}`
    await this.tree.create(entry)
    let result: T
    try {
      result = await work(entry)
    } catch (error) {
      await this.tree.remove(entry).catch(() => {}) // the first failure is more informative
      throw error
    }
    await this.tree.remove(entry)
    return result
  }
}

/** Below a service module, a guest must not request level 0: it requests the lowest it may. */
async function choosePrivilege(tree: ReportTree, entry: string): Promise<number> {
  const floor = new TextDecoder().decode(await readOptional(tree, entry, 'privlevel_floor')).trim()
  if (floor === '' || floor === '0') return 0
  if (!/^[1-3]$/.test(floor)) {
    throw new WorkerError('report_unavailable', `privlevel_floor is "${floor}", expected 0 to 3`)
  }
  await tree.write(entry, 'privlevel', new TextEncoder().encode(floor))
  return 1
}

async function readGeneration(tree: ReportTree, entry: string): Promise<bigint> {
  const text = await readText(tree, entry, 'generation')
  if (/^\d{1,20}$/.test(text)) return BigInt(text)
  throw new WorkerError('report_unavailable', `generation is "${text}", expected a number`)
}

async function readText(tree: ReportTree, entry: string, name: ReportAttribute): Promise<string> {
  return new TextDecoder().decode(await tree.read(entry, name, textBytes)).trim()
}

/** Available attributes depend on the provider. */
async function readOptional(
  tree: ReportTree,
  entry: string,
  attribute: ReportAttribute,
): Promise<Bytes> {
  try {
    return await tree.read(entry, attribute, blobBytes)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return new Uint8Array()
    throw error
  }
}

export const isErrno = (error: unknown, ...codes: readonly string[]): boolean =>
  codes.includes(String((error as { code?: unknown } | null)?.code))
