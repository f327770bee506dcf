/** The signatures of freshly built images, checked with only openssl and the public key. */
import { afterAll, expect } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { repository, run } from '../../scripts/deploy/locked-package.ts'
import { signatureTag } from '../../scripts/deploy/sign-image.ts'
import { archivePath, imageDigest } from './unpacked-image.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-signed-'))
afterAll(() => rmSync(folder, { recursive: true }))

const keyPath = process.env.PRIVATEMODE_SIGNING_KEY
const images = join(repository, 'dist', 'images')
const reason = whyNot()
const names = [
  'privatemode-proxy',
  'privatemode-gateway',
  'privatemode-worker',
  'privatemode-verify',
]

for (const name of names) {
  unlessMissing(reason).test(`openssl verifies what signs ${name}`, () => {
    const payload = join(images, `${name}.sig.json`)
    const text = readFileSync(join(images, `${name}.sig`), 'utf8')
    writeFileSync(join(folder, 'sig'), Buffer.from(text, 'base64'))
    run(['openssl', 'pkey', '-in', keyPath ?? '', '-pubout', '-out', join(folder, 'pub.pem')])
    expect(verifies(payload)).toBe(true)

    const digest = imageDigest(archivePath(name))
    const { critical } = JSON.parse(readFileSync(payload, 'utf8'))
    expect(critical.image['docker-manifest-digest']).toBe(digest)
    expect(storedSignature(name, digest)).toBe(text)

    const other = join(folder, 'other.json')
    writeFileSync(other, readFileSync(payload, 'utf8').replace(digest, `sha256:${'0'.repeat(64)}`))
    expect(verifies(other)).toBe(false)
  })
}

function whyNot(): string | undefined {
  if (keyPath === undefined) return 'PRIVATEMODE_SIGNING_KEY is not set'
  if (Bun.which('openssl') === null) return 'openssl is not on this machine'
  return existsSync(join(images, 'privatemode-proxy.sig')) ? undefined : 'the images are not signed'
}

/** With the commands of docs/install.md. */
function verifies(payload: string): boolean {
  const isEc = run(['openssl', 'pkey', '-pubin', '-in', 'pub.pem', '-noout', '-text'], {
    cwd: folder,
  }).includes('prime256v1')
  const command = isEc
    ? ['dgst', '-sha256', '-verify', 'pub.pem', '-signature', 'sig', payload]
    : [
        'pkeyutl',
        '-verify',
        '-pubin',
        '-inkey',
        'pub.pem',
        '-rawin',
        '-in',
        payload,
        '-sigfile',
        'sig',
      ]
  return Bun.spawnSync(['openssl', ...command], { cwd: folder }).exitCode === 0
}

/** The signature inside the archive, found as cosign finds it: by the tag that the digest makes. */
function storedSignature(name: string, digest: string): string {
  const read = (path: string) =>
    JSON.parse(run(['tar', '-xOf', archivePath(name), path], { cwd: folder }))
  const named = read('index.json').manifests.find(
    (entry: { annotations?: Record<string, string> }) =>
      entry.annotations?.['org.opencontainers.image.ref.name'] ===
      `${name}:${signatureTag(digest)}`,
  )
  const manifest = read(`blobs/${named.digest.replace(':', '/')}`)
  return manifest.layers[0].annotations['dev.cosignproject.cosign/signature']
}
