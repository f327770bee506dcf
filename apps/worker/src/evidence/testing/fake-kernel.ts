/** A directory that behaves like configfs-tsm (drivers/virt/coco/guest/report.c), for tests. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bytes } from '@privatemode/protocol/envelope'
import { configfsTree, type ReportTree } from '../tsm/report-tree.ts'

export type FakeKernelOptions = {
  readonly provider: string
  /** Makes the report that a real machine would sign. */
  readonly report: (inblob: Uint8Array, privilege: number) => Promise<Bytes>
  readonly auxblob?: () => Promise<Bytes>
  readonly privilegeFloor?: number
  /** Called after every write, to simulate another program writing to the entry. */
  readonly disturb?: (bump: () => void) => void
}

type Entry = { generation: number; inblob: Uint8Array; privilege: number; made: number | undefined }

export type FakeKernel = ReportTree & {
  /** Directories that currently exist. */
  entries(): string[]
  /** Maximum number of entries that existed at once. */
  readonly peak: () => number
  dispose(): void
}

/** Real files in a real directory; only the kernel's own reactions are simulated. */
export function fakeKernel(options: FakeKernelOptions): FakeKernel {
  const path = mkdtempSync(join(tmpdir(), 'fake-tsm-'))
  const files = configfsTree(path)
  const entries = new Map<string, Entry>()
  let peak = 0

  const put = (name: string, attribute: string, content: string | Uint8Array) =>
    writeFile(join(path, name, attribute), content)

  async function makeReport(name: string, entry: Entry): Promise<void> {
    if (entry.made === entry.generation) return
    if (entry.inblob.length === 0) throw errno('EINVAL')
    await put(name, 'outblob', await options.report(entry.inblob, entry.privilege))
    if (options.auxblob !== undefined) await put(name, 'auxblob', await options.auxblob())
    entry.made = entry.generation
  }

  return {
    path,
    async create(name) {
      await mkdir(join(path, name))
      entries.set(name, { generation: 0, inblob: new Uint8Array(), privilege: 0, made: undefined })
      peak = Math.max(peak, entries.size)
      await put(name, 'provider', `${options.provider}\n`)
      await put(name, 'generation', '0\n')
      for (const blob of ['inblob', 'outblob']) await put(name, blob, '')
      if (options.auxblob !== undefined) await put(name, 'auxblob', '')
      if (options.privilegeFloor !== undefined) {
        await put(name, 'privlevel', '')
        await put(name, 'privlevel_floor', `${options.privilegeFloor}\n`)
      }
    },
    async write(name, attribute, bytes) {
      await files.write(name, attribute, bytes)
      const entry = entries.get(name)!
      if (attribute === 'inblob') entry.inblob = bytes
      else if (attribute === 'privlevel') entry.privilege = Number(Buffer.from(bytes).toString())
      else throw errno('EACCES')
      entry.generation += 1
      options.disturb?.(() => {
        entry.generation += 1
      })
      await put(name, 'generation', `${entry.generation}\n`)
    },
    async read(name, attribute, limitBytes) {
      const entry = entries.get(name)!
      if (attribute === 'outblob' || attribute === 'auxblob') await makeReport(name, entry)
      return files.read(name, attribute, limitBytes)
    },
    async remove(name) {
      entries.delete(name)
      await rm(join(path, name), { recursive: true })
    },
    entries: () => readdirSync(path),
    peak: () => peak,
    dispose: () => rmSync(path, { recursive: true, force: true }),
  }
}

export const errno = (code: string): Error => Object.assign(new Error(code), { code })
