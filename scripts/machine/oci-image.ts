/** Reads an image from an OCI layout, a folder or a tar archive; every blob is compared with its digest. */
import { createHash } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  createWriteStream,
  openSync,
  readSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import type { Layer } from './oci-tree.ts'
import { listTar, type ReadAt } from './tar-list.ts'

export type OciImage = {
  /** Of its manifest. */
  readonly digest: string
  readonly process: {
    readonly command: readonly string[]
    readonly environment: readonly string[]
    readonly directory: string
  }
  readonly layers: readonly Layer[]
}

type Descriptor = {
  readonly mediaType?: string
  readonly digest: string
  readonly size: number
  readonly platform?: { readonly os?: string; readonly architecture?: string }
  readonly annotations?: Readonly<Record<string, string>>
}
type FilePart = { readonly from: string; readonly start: number; readonly size: number }
/** Finds a file of the layout. */
type Layout = (path: string) => FilePart

const maxDocumentBytes = 16 * 1024 * 1024

/** `work` receives the decompressed layers. `name` selects one of several images. */
export async function readOciImage(path: string, work: string, name?: string): Promise<OciImage> {
  const layout = statSync(path).isDirectory() ? folderLayout(path) : archiveLayout(path)
  const digest = chooseManifest(layout, name)
  const manifest = readBlob(layout, digest) as { config: Descriptor; layers: Descriptor[] }
  const { config = {} } = readBlob(layout, manifest.config.digest) as {
    config?: { Entrypoint?: string[]; Cmd?: string[]; Env?: string[]; WorkingDir?: string }
  }
  const layers: Layer[] = []
  for (const [index, layer] of manifest.layers.entries())
    layers.push(await openLayer(layout, layer, join(work, `layer-${index}.tar`)))
  return {
    digest,
    process: {
      command: [...(config.Entrypoint ?? []), ...(config.Cmd ?? [])],
      environment: config.Env ?? [],
      directory: config.WorkingDir || '/',
    },
    layers,
  }
}

function folderLayout(folder: string): Layout {
  return (path) => {
    const from = join(folder, path)
    return { from, start: 0, size: statSync(from).size }
  }
}

function archiveLayout(from: string): Layout {
  const parts = new Map<string, FilePart>()
  const archive = openPart({ from, start: 0, size: statSync(from).size })
  for (const { path, kind, at, size } of listTar(archive.read, archive.start, archive.end)) {
    if (kind === 'file') parts.set(path, { from, start: at, size })
  }
  return (path) => {
    const part = parts.get(path)
    if (part === undefined) throw new Error(`${from} has no file ${path}`)
    return part
  }
}

/** An index may name other indexes, one for each platform. */
function chooseManifest(layout: Layout, name: string | undefined): string {
  const index = JSON.parse(readWhole(layout('index.json')).toString()) as {
    manifests: Descriptor[]
  }
  const isNamed = ({ annotations = {} }: Descriptor) =>
    name === undefined || annotations['org.opencontainers.image.ref.name'] === name
  let candidates = index.manifests.filter(isNamed)
  for (;;) {
    const suited = candidates.filter(
      ({ platform }) =>
        platform === undefined || (platform.os === 'linux' && platform.architecture === 'amd64'),
    )
    const [only, other] = suited
    if (only === undefined) throw new Error('the layout has no such image for linux/amd64')
    if (other !== undefined) throw new Error('the layout has several images; name one with --image')
    const document = readBlob(layout, only.digest) as { manifests?: Descriptor[] }
    if (document.manifests === undefined) return only.digest
    candidates = document.manifests
  }
}

const blobPath = (digest: string): string => {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`unsupported digest ${digest}`)
  return `blobs/${digest.replace(':', '/')}`
}

function readBlob(layout: Layout, digest: string): unknown {
  const bytes = readWhole(layout(blobPath(digest)))
  requireDigest(createHash('sha256').update(bytes).digest('hex'), digest)
  return JSON.parse(bytes.toString())
}

function readWhole(part: FilePart): Buffer {
  if (part.size > maxDocumentBytes) throw new Error(`${part.from} has a document that is too long`)
  return Buffer.from(openPart(part).read(part.start, part.size))
}

const decompressors: Readonly<Record<string, (() => Transform) | undefined>> = {
  tar: undefined,
  'tar+gzip': createGunzip,
  'tar+zstd': createZstdDecompress,
}

/** Docker's own type differs in its name alone. */
const compressionOf = (mediaType = '') =>
  mediaType
    .replace('application/vnd.docker.image.rootfs.diff.tar.gzip', 'tar+gzip')
    .replace(/^application\/vnd\.oci\.image\.layer\.(nondistributable\.)?v1\./, '')

async function openLayer(layout: Layout, layer: Descriptor, out: string): Promise<Layer> {
  const part = layout(blobPath(layer.digest))
  const compression = compressionOf(layer.mediaType)
  if (!Object.hasOwn(decompressors, compression))
    throw new Error(`${layer.digest} is a layer of type ${layer.mediaType}, which is not supported`)
  const decompress = decompressors[compression]
  const hash = createHash('sha256')
  const { from, start, size } = part
  const stream = createReadStream(from, { start, end: start + size - 1, highWaterMark: 1 << 20 })
  const hashed = async function* () {
    for await (const chunk of stream) {
      hash.update(chunk as Uint8Array)
      yield chunk
    }
  }
  if (decompress === undefined) for await (const _ of hashed());
  else await pipeline(hashed, decompress(), createWriteStream(out))
  requireDigest(hash.digest('hex'), layer.digest)
  return openPart(
    decompress === undefined ? part : { from: out, start: 0, size: statSync(out).size },
  )
}

function requireDigest(seen: string, expected: string): void {
  if (`sha256:${seen}` !== expected) throw new Error(`a blob is sha256:${seen}, not ${expected}`)
}

function openPart({ from, start, size }: FilePart): Layer {
  const read: ReadAt = (at, length) => {
    const file = openSync(from, 'r')
    try {
      const bytes = new Uint8Array(length)
      let filled = 0
      for (let count = -1; count !== 0 && filled < length; filled += count)
        count = readSync(file, bytes, filled, length - filled, at + filled)
      return bytes.subarray(0, filled)
    } finally {
      closeSync(file)
    }
  }
  return { from, start, end: start + size, read }
}
