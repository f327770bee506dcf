/** Builds OCI images (image-spec 1.1) from files: layers, configuration, manifest, and an index over architectures. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type TarEntry, writeTar } from './tar.ts'

export type Blob = { readonly digest: string; readonly bytes: Uint8Array }

export type Descriptor = {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
  readonly platform?: { readonly os: 'linux'; readonly architecture: Architecture }
  readonly annotations?: Readonly<Record<string, string>>
}

export type Architecture = 'amd64' | 'arm64'

export type ImageContent = {
  readonly architecture: Architecture
  /** One after the other; what changes most often comes last. */
  readonly layers: readonly (readonly TarEntry[])[]
  readonly entrypoint: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly workingDir: string
  /** Numeric, so that Kubernetes can see that it is not root. */
  readonly user: string
  /** Undefined if the program does not listen. */
  readonly port?: number | undefined
  readonly labels: Readonly<Record<string, string>>
}

export type Image = { readonly descriptor: Descriptor; readonly blobs: readonly Blob[] }

export const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const

/** One image for one architecture. */
export function makeImage(content: ImageContent, createdSeconds: number): Image {
  const layers = content.layers.map((entries) => makeLayer(entries, createdSeconds))
  const created = formatTime(createdSeconds)
  const config = jsonBlob({
    architecture: content.architecture,
    config: {
      Entrypoint: content.entrypoint,
      Env: Object.entries(content.env).map(([name, value]) => `${name}=${value}`),
      ...(content.port === undefined ? {} : { ExposedPorts: { [`${content.port}/tcp`]: {} } }),
      Labels: content.labels,
      User: content.user,
      WorkingDir: content.workingDir,
    },
    created,
    history: layers.map(() => ({ created, created_by: 'privatemode build-images' })),
    os: 'linux',
    rootfs: { diff_ids: layers.map((layer) => layer.diffId), type: 'layers' },
  })
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: describe(config, mediaTypes.config),
    layers: layers.map(({ blob }) => describe(blob, mediaTypes.layer)),
    annotations: content.labels,
  })
  const platform = { os: 'linux', architecture: content.architecture } as const
  return {
    descriptor: { ...describe(manifest, mediaTypes.manifest), platform },
    blobs: [...layers.map(({ blob }) => blob), config, manifest],
  }
}

/** One name for the images of all architectures. */
export function makeIndex(
  images: readonly Image[],
  annotations: Readonly<Record<string, string>>,
): Image {
  const index = jsonBlob({
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: images.map((image) => image.descriptor),
    annotations,
  })
  return {
    descriptor: describe(index, mediaTypes.index),
    blobs: [...images.flatMap((image) => image.blobs), index],
  }
}

/** An image whose only layer is a document: how cosign stores signatures in any registry. */
export function makeDocumentImage(
  content: Uint8Array,
  mediaType: string,
  layerAnnotations: Readonly<Record<string, string>>,
): Image {
  const layer = blobOf(content)
  const rootfs = { type: 'layers', diff_ids: [layer.digest] }
  const config = jsonBlob({ architecture: '', config: {}, os: '', rootfs })
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: describe(config, mediaTypes.config),
    layers: [{ ...describe(layer, mediaType), annotations: layerAnnotations }],
  })
  return { descriptor: describe(manifest, mediaTypes.manifest), blobs: [layer, config, manifest] }
}

function makeLayer(entries: readonly TarEntry[], mtimeSeconds: number) {
  const tar = writeTar(entries, mtimeSeconds)
  const gzipped = new Uint8Array(gzipSync(tar, { level: 6 }))
  gzipped[9] = 255 // RFC 1952: the system that compressed it is of no interest
  return { blob: blobOf(gzipped), diffId: digestOf(tar) }
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

export function formatTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

function blobOf(bytes: Uint8Array): Blob {
  return { digest: digestOf(bytes), bytes }
}

function jsonBlob(value: object): Blob {
  return blobOf(new TextEncoder().encode(JSON.stringify(value)))
}

function describe(blob: Blob, mediaType: string): Descriptor {
  return { mediaType, digest: blob.digest, size: blob.bytes.length }
}
