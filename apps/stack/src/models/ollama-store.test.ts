import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findOllamaModel } from './ollama-store.ts'

const store = mkdtempSync(join(tmpdir(), 'privatemode-ollama-'))
afterAll(() => rmSync(store, { recursive: true, force: true }))
const hash = 'ab'.repeat(32)

function addModel(path: string, sha256: string): void {
  const manifest = join(store, 'manifests/registry.ollama.ai', path)
  mkdirSync(dirname(manifest), { recursive: true })
  const layers = [
    { mediaType: 'application/vnd.ollama.image.license', digest: `sha256:${'00'.repeat(32)}` },
    { mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${sha256}` },
  ]
  writeFileSync(manifest, JSON.stringify({ schemaVersion: 2, layers }))
}
mkdirSync(join(store, 'blobs'))
writeFileSync(join(store, 'blobs', `sha256-${hash}`), 'GGUF')
addModel('library/qwen3/latest', hash)
addModel('library/qwen3/0.6b', hash)
addModel('someone/theirs/latest', hash)
addModel('library/half/latest', 'cd'.repeat(32))

test('a model is found by name, with and without a tag or an owner, with the hash it must have', () => {
  const path = join(store, 'blobs', `sha256-${hash}`)
  expect(findOllamaModel('ollama:qwen3', store)).toEqual({ id: 'qwen3', path, sha256: hash })
  expect(findOllamaModel('ollama:qwen3:0.6b', store)?.id).toBe('qwen3-0.6b')
  expect(findOllamaModel('ollama:someone/theirs', store)?.id).toBe('someone/theirs')
  expect(findOllamaModel('stories15m', store)).toBeUndefined()
})

test('a missing or incomplete model is refused with the command that fetches it', () => {
  expect(() => findOllamaModel('ollama:none', store)).toThrow('ollama pull none:latest')
  expect(() => findOllamaModel('ollama:half', store)).toThrow('ollama pull half:latest')
  for (const bad of ['ollama:', 'ollama:../x', 'ollama:a/b/c', 'ollama:a b'])
    expect(() => findOllamaModel(bad, store)).toThrow('ollama:NAME')
})
