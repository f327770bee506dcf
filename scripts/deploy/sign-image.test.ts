import { afterAll, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { repository } from './locked-package.ts'
import { signDigest } from './sign-image.ts'

const openssl = Bun.which('openssl')
const folder = mkdtempSync(join(tmpdir(), 'privatemode-signature-'))
afterAll(() => rmSync(folder, { recursive: true }))

const pairs = {
  'ECDSA P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  Ed25519: () => generateKeyPairSync('ed25519'),
}
/** The commands of docs/install.md for people without cosign, by kind of key. */
const commands: Readonly<Record<keyof typeof pairs, string>> = {
  'ECDSA P-256': 'openssl dgst -sha256 -verify pub.pem -signature sig privatemode-proxy.sig.json',
  Ed25519:
    'openssl pkeyutl -verify -pubin -inkey pub.pem -rawin -in privatemode-proxy.sig.json -sigfile sig',
}

for (const [kind, generate] of Object.entries(pairs)) {
  const command = commands[kind as keyof typeof pairs]
  const missing = openssl === null ? 'openssl is not installed' : undefined
  unlessMissing(missing).test(`openssl verifies a signature with ${kind}`, () => {
    const { privateKey, publicKey } = generate()
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const made = signDigest('privatemode-proxy', `sha256:${'a'.repeat(64)}`, key)
    const write = (name: string, content: string | Uint8Array) =>
      writeFileSync(join(folder, name), content)
    const check = () => Bun.spawnSync(command.split(' '), { cwd: folder }).exitCode === 0
    write('pub.pem', publicKey.export({ type: 'spki', format: 'pem' }).toString())
    write('sig', made.signature)
    write('privatemode-proxy.sig.json', made.payload)
    expect(check()).toBe(true)
    write('privatemode-proxy.sig.json', Buffer.from(made.payload).fill(0x62, 120, 121))
    expect(check()).toBe(false)
  })

  test(`docs/install.md has the command for ${kind}`, () => {
    const documented = readFileSync(join(repository, 'docs', 'install.md'), 'utf8')
    expect(documented).toContain(command)
  })
}
