import { expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { checkSignature, signatureImage, signatureTag, signDigest } from '../sign-image.ts'
import { digestOf, type ImageContent, makeImage, makeIndex, mediaTypes } from './image.ts'
import { layoutEntries } from './layout.ts'
import type { TarEntry } from './tar.ts'

const hello: TarEntry = {
  kind: 'file',
  path: 'usr/bin/hello',
  mode: 0o755,
  content: new TextEncoder().encode('hello'),
}
const content: ImageContent = {
  architecture: 'arm64',
  layers: [[hello]],
  entrypoint: ['/usr/bin/hello'],
  env: { A: 'b' },
  workingDir: '/workspace',
  user: '65532:65532',
  port: 8080,
  labels: { 'org.opencontainers.image.title': 'hello' },
}
const json = (bytes: Uint8Array | undefined) => JSON.parse(new TextDecoder().decode(bytes))

test('an image is a manifest of blobs that match their digests', () => {
  const { descriptor, blobs } = makeImage(content, 1_700_000_000)
  const blob = (digest: string) => blobs.find((entry) => entry.digest === digest)?.bytes
  for (const { digest, bytes } of blobs) expect(digestOf(bytes)).toBe(digest)
  const manifest = json(blob(descriptor.digest))
  expect(descriptor).toMatchObject({
    mediaType: mediaTypes.manifest,
    platform: { os: 'linux', architecture: 'arm64' },
  })
  expect(manifest.layers).toHaveLength(1)
  const config = json(blob(manifest.config.digest))
  expect(config).toMatchObject({
    architecture: 'arm64',
    os: 'linux',
    created: '2023-11-14T22:13:20Z',
    config: {
      Entrypoint: ['/usr/bin/hello'],
      Env: ['A=b'],
      ExposedPorts: { '8080/tcp': {} },
      User: '65532:65532',
      WorkingDir: '/workspace',
    },
  })
  const layer = blob(manifest.layers[0].digest) ?? new Uint8Array()
  expect(layer).toHaveLength(manifest.layers[0].size)
  expect(config.rootfs.diff_ids).toEqual([digestOf(new Uint8Array(gunzipSync(layer)))])
})

test('the same content has the same digest, and different content or a different time another', () => {
  const digest = (given: ImageContent, at = 1) => makeImage(given, at).descriptor.digest
  expect(digest(content)).toBe(digest({ ...content }))
  expect(digest({ ...content, user: '0' })).not.toBe(digest(content))
  expect(digest(content, 2)).not.toBe(digest(content))
})

test('an index names the images of both architectures', () => {
  const images = [
    makeImage(content, 1),
    makeImage({ ...content, architecture: 'amd64', labels: {} }, 1),
  ]
  const index = makeIndex(images, {})
  const bytes = index.blobs.find((blob) => blob.digest === index.descriptor.digest)?.bytes
  expect(json(bytes).manifests).toEqual(images.map((image) => image.descriptor))
})

test('a layout has every blob once and the name of each image', () => {
  const image = makeImage(content, 1)
  const entries = layoutEntries([{ image, name: { repository: 'proxy', tag: '1.0' } }, { image }])
  const paths = entries.map((entry) => entry.path)
  expect(paths.filter((path) => path.startsWith('blobs/'))).toHaveLength(image.blobs.length)
  const index = entries.find((entry) => entry.path === 'index.json')
  if (index?.kind !== 'file') throw new Error('no index')
  expect(json(index.content).manifests[0].annotations).toEqual({
    'org.opencontainers.image.ref.name': 'proxy:1.0',
    'io.containerd.image.name': 'docker.io/library/proxy:1.0',
  })
})

test('docker finds the image for amd64 by the paths of its blobs', () => {
  const images = [makeImage(content, 1), makeImage({ ...content, architecture: 'amd64' }, 1)]
  const name = { repository: 'proxy', tag: '1.0' }
  const entries = layoutEntries([{ image: makeIndex(images, {}), name }])
  const listed = entries.find((entry) => entry.path === 'manifest.json')
  if (listed?.kind !== 'file') throw new Error('no manifest.json')
  const [only, ...others] = json(listed.content)
  expect(others).toEqual([])
  expect(only.RepoTags).toEqual(['proxy:1.0'])
  const paths = entries.map((entry) => entry.path)
  for (const path of [only.Config, ...only.Layers]) expect(paths).toContain(path)
  const config = entries.find((entry) => entry.path === only.Config)
  if (config?.kind !== 'file') throw new Error('no configuration')
  expect(json(config.content).architecture).toBe('amd64')
})

for (const kind of ['ed25519', 'ec'] as const) {
  test(`a signature with an ${kind} key is valid only for this digest and this key`, () => {
    const pair = () =>
      kind === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync(kind)
    const { privateKey, publicKey } = pair()
    const pem = { type: 'spki', format: 'pem' } as const
    const digest = `sha256:${'a'.repeat(64)}`
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const made = signDigest('proxy', digest, key)
    const ours = publicKey.export(pem).toString()
    expect(checkSignature(made, digest, ours)).toBe(true)
    expect(checkSignature(made, `sha256:${'b'.repeat(64)}`, ours)).toBe(false)
    expect(checkSignature(made, digest, pair().publicKey.export(pem).toString())).toBe(false)
    const image = signatureImage(made)
    const manifest = json(image.blobs.at(-1)?.bytes)
    const signature = manifest.layers[0].annotations['dev.cosignproject.cosign/signature']
    expect(Buffer.from(signature, 'base64')).toEqual(Buffer.from(made.signature))
    expect(signatureTag(digest)).toBe(`sha256-${'a'.repeat(64)}.sig`)
  })
}
