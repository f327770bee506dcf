/** Writes images as an OCI layout in one archive, which skopeo, podman, containerd and docker read. */
import { writeFileSync } from 'node:fs'
import { type Descriptor, type Image, mediaTypes } from './image.ts'
import { type TarEntry, writeTar } from './tar.ts'

/** One image under a name; artifacts that only point at others have none. */
export type Named = { readonly image: Image; readonly name?: ImageReference }

export type ImageReference = { readonly repository: string; readonly tag: string }

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
    ...dockerManifest(named),
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

const format = ({ repository, tag }: ImageReference) => `${repository}:${tag}`

/** podman and skopeo read the first name, containerd the second. */
function withName(descriptor: Descriptor, name: ImageReference | undefined): Descriptor {
  if (name === undefined) return descriptor
  return {
    ...descriptor,
    annotations: {
      'org.opencontainers.image.ref.name': format(name),
      'io.containerd.image.name': `docker.io/library/${format(name)}`,
    },
  }
}

/** What `docker load` reads unless docker stores its images in containerd: one architecture, by the paths of its blobs. */
function dockerManifest(named: readonly Named[]): TarEntry[] {
  const manifests = named.flatMap(({ image, name }) => {
    const read = (digest: string) => {
      const bytes = image.blobs.find((blob) => blob.digest === digest)?.bytes
      return bytes && JSON.parse(new TextDecoder().decode(bytes))
    }
    const platforms: readonly Descriptor[] = read(image.descriptor.digest)?.manifests ?? []
    const amd64 = platforms.find(({ platform }) => platform?.architecture === 'amd64')
    if (name === undefined || amd64 === undefined) return []
    const { config, layers } = read(amd64.digest) as { config: Descriptor; layers: Descriptor[] }
    const path = ({ digest }: Descriptor) => `blobs/${digest.replace(':', '/')}`
    return [{ Config: path(config), RepoTags: [format(name)], Layers: layers.map(path) }]
  })
  return manifests.length === 0 ? [] : [jsonEntry('manifest.json', manifests)]
}

function jsonEntry(path: string, value: object): TarEntry {
  return {
    kind: 'file',
    path,
    mode: 0o644,
    content: new TextEncoder().encode(JSON.stringify(value)),
  }
}
