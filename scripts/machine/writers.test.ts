/** Compares the volume writers with Debian's own tools if installed, and with their recorded output. */
import { afterAll, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { writeCpio } from './cpio.ts'
import { type ErofsEntry, writeErofs } from './erofs.ts'
import { writeFirstProgram } from './first-program.ts'
import { appendVerity } from './verity.ts'
import { buildWeights } from './weights.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-volumes-'))
chmodSync(folder, 0o755)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** Three hundred blocks, so that the tree has two levels. */
const blocks = Buffer.concat(Array.from({ length: 300 }, (_, index) => Buffer.alloc(4096, index)))

test('the hash tree equals that of veritysetup for the same blocks', () => {
  const path = join(folder, 'blocks')
  writeFileSync(path, blocks)
  // veritysetup 2.6.1: format --no-superblock --salt=3c32b628… (SHA-256 of the label)
  expect(appendVerity(path, 'root')).toEqual({
    root: '2f78dc559e54ddafb348f39537b0111bdef9ab040a8987f323eabeb23d8b132c',
    blocks: 300,
  })
  const tree = readFileSync(path).subarray(blocks.length)
  expect(sha256(tree)).toBe('0988a9d86a9e08f1400c2bfdd7e78f45d7474544e41b3aca8118b71909423ae1')
})

test('a flipped bit changes the root hash, and a volume with a partial block has none', () => {
  const path = join(folder, 'flipped')
  const changed = Buffer.from(blocks)
  changed[123_456] = (changed[123_456] ?? 0) ^ 1
  writeFileSync(path, changed)
  expect(appendVerity(path, 'root').root).not.toStartWith('2f78dc55')
  writeFileSync(path, 'not a block')
  expect(() => appendVerity(path, 'root')).toThrow('whole blocks')
})

const entries: ErofsEntry[] = [
  { kind: 'file', path: 'a/b/c', mode: 0o644, content: Buffer.from('hello') },
  { kind: 'link', path: 'a/link', mode: 0o777, to: 'b/c' },
  { kind: 'folder', path: 'empty', mode: 0o755 },
  { kind: 'file', path: 'program', mode: 0o755, content: Buffer.alloc(10_000, 7) },
  { kind: 'file', path: 'nothing', mode: 0o644, content: new Uint8Array(0) },
  // More names than fit into one directory block.
  ...Array.from({ length: 300 }, (_, index) => ({
    kind: 'file' as const,
    path: `many/a-name-that-takes-its-room-${index}`,
    mode: 0o444,
    content: Buffer.from(String(index)),
  })),
]

test('a volume is the same bytes whatever the order of its entries', async () => {
  const [one, other] = [join(folder, 'one'), join(folder, 'other')]
  await writeErofs(one, 'root', entries)
  await writeErofs(other, 'root', entries.toReversed())
  expect(readFileSync(one).equals(readFileSync(other))).toBe(true)
})

const checker = Bun.which('fsck.erofs')

unlessMissing(checker === null ? 'fsck.erofs is not installed' : undefined).test(
  'the checker of the file system finds every file in a volume',
  async () => {
    const [image, out] = [join(folder, 'image'), join(folder, 'extracted')]
    await writeErofs(image, 'root', entries)
    const { exitCode } = Bun.spawnSync([checker ?? '', `--extract=${out}`, image])
    expect(exitCode).toBe(0)
    expect(readFileSync(join(out, 'a/link'), 'utf8')).toBe('hello')
    expect(readFileSync(join(out, 'program')).equals(Buffer.alloc(10_000, 7))).toBe(true)
    expect(readFileSync(join(out, 'nothing')).length).toBe(0)
    expect(readdirSync(join(out, 'many')).length).toBe(300)
    expect(readFileSync(join(out, 'many/a-name-that-takes-its-room-299'), 'utf8')).toBe('299')
  },
)

test('weights have the same root hash in any folder and under any disk name', async () => {
  const weights = mkdtempSync(join(folder, 'weights-'))
  writeFileSync(join(weights, 'model.gguf'), 'weights')
  const one = await buildWeights(weights, 'weights-a', join(folder, 'a.img'))
  const other = await buildWeights(weights, 'weights-b', join(folder, 'b.img'))
  expect(other).toEqual({ ...one, label: 'weights-b' })
  writeFileSync(join(weights, 'model.gguf'), 'weightt')
  const changed = await buildWeights(weights, 'weights-a', join(folder, 'a.img'))
  expect(changed.root).not.toBe(one.root)
})

test('an initial disk lists its entries in order and contains no time', () => {
  const bytes = writeCpio([
    { kind: 'file', path: 'machine/main.ts', mode: 0o755, content: Buffer.from('init') },
    { kind: 'device', path: 'dev/null', mode: 0o666, major: 1, minor: 3 },
    { kind: 'link', path: 'lib', mode: 0o777, to: 'usr/lib' },
  ])
  const text = Buffer.from(bytes).toString('latin1')
  const names = [...text.matchAll(/070701[0-9a-f]{104}([^\0]+)\0/g)].map(([, name]) => name)
  expect(names).toEqual(['dev', 'dev/null', 'lib', 'machine', 'machine/main.ts', 'TRAILER!!!'])
  // mode, user, group, links and time of the device
  expect(text).toContain('07070100000002000021b600000000000000000000000100000000')
  expect(bytes.length % 4).toBe(0)
})

test('the first program is an ELF file that contains what it mounts and what it executes', () => {
  const bytes = writeFirstProgram({ command: ['/usr/bin/bun', '/main.ts'], environment: ['A=1'] })
  const text = Buffer.from(bytes).toString('latin1')
  expect(text).toStartWith('\x7fELF\x02\x01\x01')
  for (const word of ['proc', '/proc', 'hidepid=2', '/usr/bin/bun', '/main.ts', 'A=1']) {
    expect(text).toContain(`${word}\0`)
  }
  // mov eax, mount; then a system call, a test of its result, execve and exit
  expect([...bytes.subarray(120, 125)]).toEqual([0xb8, 165, 0, 0, 0])
  expect(text.split('\x0f\x05').length).toBe(4)
})

// If /proc is already mounted, mounting over it requires privileges; without them the program reports that and exits.
unlessMissing(
  process.platform === 'linux' && process.arch === 'x64' ? undefined : 'not Linux on x86-64',
).test('the first program ends with 1 where it may not mount', () => {
  const path = join(folder, 'first')
  writeFileSync(path, writeFirstProgram({ command: ['/nothing'], environment: [] }), {
    mode: 0o755,
  })
  const command =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--clear-groups', path] : [path]
  if (Bun.which(command[0] ?? '') === null && command.length > 1) return
  expect(Bun.spawnSync(command).exitCode).toBe(1)
})
