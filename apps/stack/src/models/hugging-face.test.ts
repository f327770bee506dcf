import { afterAll, beforeEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureHuggingFace, huggingFaceId, parseHuggingFace } from './hugging-face.ts'

const file = { repository: 'org/repo', path: 'tiny.Q4.gguf' }
const id = 'hf:org/repo/tiny.Q4.gguf'
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const first = new Uint8Array(300_000).map((_, at) => at % 251)
const second = first.map((byte) => byte ^ 1)

let content = first
let cutAfter = Number.POSITIVE_INFINITY
let seen: string[] = []
/** Like the real one, it redirects to another path, which supports ranges and has a strong ETag. */
const server = createServer((socket) => {
  socket.on('error', () => {})
  socket.once('data', (data) => {
    const request = data.toString()
    const path = request.split(' ')[1]
    const send = (head: string, body: Uint8Array = new Uint8Array()) => {
      socket.write(`HTTP/1.1 ${head}\r\nconnection: close\r\n\r\n`)
      socket.write(body)
      // A client may drop unread data when the connection breaks: it is cut once everything is on disk.
      const timer = setInterval(() => {
        if (body.length === cutAfter && !partHas(cutAfter)) return
        clearInterval(timer)
        socket.end()
      }, 10)
    }
    if (path?.startsWith('/org/repo') && !path.endsWith('none.gguf'))
      return send('302 Found\r\nlocation: /blobs/1\r\ncontent-length: 0')
    if (path !== '/blobs/1') return send('404 Not Found\r\ncontent-length: 0')
    seen.push(request)
    const etag = `"${sha256(content)}"`
    const asked = Number(/^range: bytes=(\d+)-\r$/im.exec(request)?.[1] ?? 0)
    const from = request.toLowerCase().includes(`if-range: ${etag}`) ? asked : 0
    const rest = content.subarray(from)
    const range = `content-range: bytes ${from}-${content.length - 1}/${content.length}\r\n`
    const head = `${from === 0 ? '200 OK\r\n' : `206 Partial Content\r\n${range}`}etag: ${etag}\r\n`
    send(`${head}content-length: ${rest.length}`, rest.subarray(0, cutAfter))
  })
})
await once(server.listen(0, '127.0.0.1'), 'listening')
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const folder = mkdtempSync(join(tmpdir(), 'privatemode-hf-'))
let cacheDir = folder
let said: string[] = []
const options = () => ({
  cacheDir,
  pinsPath: join(cacheDir, 'pins.json'),
  endpoint: origin,
  say: (line: string) => void said.push(line),
})
function partHas(bytes: number): boolean {
  const part = readdirSync(cacheDir).find((name) => name.endsWith('.part'))
  return part !== undefined && statSync(join(cacheDir, part)).size >= bytes
}
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: 'none', message: '' }),
    (error: { code: string; message: string }) => error,
  )

beforeEach(() => {
  content = first
  cutAfter = Number.POSITIVE_INFINITY
  seen = []
  said = []
  cacheDir = mkdtempSync(join(folder, 'case-'))
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

test('a name is hf:ORG/REPO/FILE.gguf and nothing that leaves the folder', () => {
  expect(parseHuggingFace(id)).toEqual(file)
  expect(parseHuggingFace('tinyllama-1.1b-chat')).toBeUndefined()
  expect(huggingFaceId(file)).toBe('tiny.Q4')
  for (const bad of [
    'hf:org/x.gguf',
    'hf:org/repo/x.bin',
    'hf:org/repo/../x.gguf',
    'hf:a b/c/d.gguf',
  ])
    expect(() => parseHuggingFace(bad)).toThrow('hf:ORG/REPO/FILE.gguf')
})

test('a file is fetched once, its hash is shown and pinned, and later starts check it', async () => {
  const { path, sha256: hash } = await ensureHuggingFace(file, options())
  expect(hash).toBe(sha256(first))
  expect(new Uint8Array(readFileSync(path))).toEqual(first)
  expect(said.join()).toContain(hash)
  expect(JSON.parse(readFileSync(join(cacheDir, 'pins.json'), 'utf8'))).toEqual({ [id]: hash })
  await ensureHuggingFace(file, options())
  expect(seen).toHaveLength(1)
  writeFileSync(path, second)
  const changed = await failure(ensureHuggingFace(file, options()))
  expect(changed).toMatchObject({ code: 'hash_mismatch' })
})

test('files of two repositories whose names join to the same are kept apart', async () => {
  const one = await ensureHuggingFace({ repository: 'org/repo-a', path: 'x.gguf' }, options())
  content = second
  const two = await ensureHuggingFace({ repository: 'org/repo', path: 'a/x.gguf' }, options())
  expect([one.sha256, two.sha256]).toEqual([sha256(first), sha256(second)])
})

test('an access token is not sent over plain http', async () => {
  const plain = { ...options(), endpoint: 'http://mirror.invalid', token: () => 'hf_secret' }
  const refused = await failure(ensureHuggingFace(file, plain))
  expect(refused.message).toContain('unencrypted')
  expect(refused.message).not.toContain('hf_secret')
})

test('an interrupted download continues where it stopped', async () => {
  cutAfter = 100_000
  const cut = await failure(ensureHuggingFace(file, options()))
  expect(cut).toMatchObject({ code: 'download_failed' })
  expect(cut.message).toContain('continue from there')
  cutAfter = Number.POSITIVE_INFINITY
  const { path } = await ensureHuggingFace(file, options())
  expect(seen[1]?.toLowerCase()).toContain('range: bytes=100000-')
  expect(said.join()).toContain('Continuing the download')
  expect(new Uint8Array(readFileSync(path))).toEqual(first)
  expect(readdirSync(cacheDir).filter((name) => name.includes('.part'))).toEqual([])
})

test('a file that changed meanwhile is fetched from the start, not appended to the old part', async () => {
  cutAfter = 100_000
  await failure(ensureHuggingFace(file, options()))
  cutAfter = Number.POSITIVE_INFINITY
  content = second
  const { path } = await ensureHuggingFace(file, options())
  expect(new Uint8Array(readFileSync(path))).toEqual(second)
})

test('a different file under a pinned name is refused, and not put in place', async () => {
  const { path } = await ensureHuggingFace(file, options())
  rmSync(path)
  content = second
  const error = await failure(ensureHuggingFace(file, options()))
  expect(error).toMatchObject({ code: 'hash_mismatch' })
  expect(error.message).toContain(sha256(first))
  expect(existsSync(path)).toBe(false)
})

test('Ctrl-C keeps what was downloaded', async () => {
  const stop = new AbortController()
  const onProgress = () => stop.abort()
  const error = await failure(
    ensureHuggingFace(file, { ...options(), onProgress, signal: stop.signal }),
  )
  expect(error).toMatchObject({ code: 'aborted' })
  expect(readdirSync(cacheDir).some((name) => name.endsWith('.part'))).toBe(true)
})

test('a missing file and an unreachable host are reported with the remedy', async () => {
  const missing = await failure(ensureHuggingFace({ ...file, path: 'none.gguf' }, options()))
  expect(missing).toMatchObject({ code: 'model_unknown' })
  const gone = await failure(
    ensureHuggingFace(file, { ...options(), endpoint: 'http://127.0.0.1:1' }),
  )
  expect(gone).toMatchObject({ code: 'download_failed' })
  expect(gone.message).toContain('HF_ENDPOINT')
})
