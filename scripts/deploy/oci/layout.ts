/** Writes images as an OCI layout in one archive, which skopeo, podman, containerd and docker read. */
import { writeFileSync } from 'node:fs'
import { type Descriptor, type Image, mediaTypes } from './image.ts'
import { type TarEntry, writeTar } from './tar.ts'

/** One image under a name, such as a tag; artifacts that only point at others have none. */
export type Named = { readonly image: Image; readonly name?: string }

export function writeArchive(path: string, named: readonly Named[], mtimeSeconds: number): void {
  writeFileSync(path, writeTar(layoutEntries(named), mtimeSeconds))
}

export function layoutEntries(named: readonly Named[]): TarEntry[] {
  const blobs = new Map(
    named.flatMap(({ image }) => image.blobs.map((blob) => [blob.digest, blob.bytes] as const)),
  )
  const index = {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: named.map(({ image, name }) => withName(image.descriptor, name)),
  }
  return [
    jsonEntry('oci-layout', { imageLayoutVersion: '1.0.0' }),
    jsonEntry('index.json', index),
    ...[...blobs].map(
      ([digest, content]): TarEntry => ({
        kind: 'file',
        path: `blobs/${digest.replace(':', '/')}`,
        mode: 0o644,
        content,
      }),
    ),
  ]
}

function withName(descriptor: Descriptor, name: string | undefined): Descriptor {
  if (name === undefined) return descriptor
  return { ...descriptor, annotations: { 'org.opencontainers.image.ref.name': name } }
}

function jsonEntry(path: string, value: object): TarEntry {
  return {
    kind: 'file',
    path,
    mode: 0o644,
    content: new TextEncoder().encode(JSON.stringify(value)),
  }
}
