/** Sealed bytes open unchanged or not at all. */
import { expect, test } from 'bun:test'
import { fstatSync, readSync, writeSync } from 'node:fs'
import { unlessMissing } from '@privatemode/service/testing'
import { SealedMemory } from './sealed-memory.ts'
import { isMemoryFolder, openStateFile } from './state-file.ts'

const folder = '/dev/shm'
const noMemoryFolder = isMemoryFolder(folder) ? undefined : '/dev/shm is not in memory'
const secret = new TextEncoder().encode('once upon a time '.repeat(300_000)) // over one chunk

unlessMissing(noMemoryFolder).test('sealed bytes open unchanged', () => {
  const memory = new SealedMemory()
  const sealed = seal(memory)
  expect(sealed.chunks.length).toBe(2)
  const file = openStateFile(folder)
  memory.openToFile(sealed, file.descriptor)
  const opened = new Uint8Array(fstatSync(file.descriptor).size)
  readSync(file.descriptor, opened, 0, opened.length, 0)
  file.close()
  expect(opened).toEqual(secret)
})

unlessMissing(noMemoryFolder).test('their content cannot be read in memory', () => {
  const sealed = seal(new SealedMemory())
  for (const chunk of sealed.chunks) expect(Buffer.from(chunk).includes('upon a')).toBe(false)
})

unlessMissing(noMemoryFolder).test(
  'a flipped bit, a swapped chunk and another key are refused',
  () => {
    const memory = new SealedMemory()
    const sealed = seal(memory)
    const file = openStateFile(folder)
    const flipped = sealed.chunks.map((chunk) => Uint8Array.from(chunk))
    flipped[1]![7]! ^= 1
    expect(() => memory.openToFile({ ...sealed, chunks: flipped }, file.descriptor)).toThrow()
    const swapped = sealed.chunks.toReversed()
    expect(() => memory.openToFile({ ...sealed, chunks: swapped }, file.descriptor)).toThrow()
    expect(() => memory.openToFile({ ...sealed, id: 99 }, file.descriptor)).toThrow()
    expect(() => new SealedMemory().openToFile(sealed, file.descriptor)).toThrow()
    file.close()
  },
)

test('names are stable for a secret within one process, and never reveal it', () => {
  const memory = new SealedMemory()
  expect(memory.nameOf('salt', 'a')).toBe(memory.nameOf('salt', 'a'))
  expect(memory.nameOf('salt', 'a')).not.toBe(memory.nameOf('salt', 'b'))
  expect(memory.nameOf('salt', '\ud800')).not.toBe(memory.nameOf('salt', '\ud801'))
  expect(memory.nameOf('ab', 'c')).not.toBe(memory.nameOf('a', 'bc'))
  expect(memory.nameOf('salt', 'a')).not.toBe(new SealedMemory().nameOf('salt', 'a'))
})

test('a folder on a disk is refused for states', () => {
  expect(isMemoryFolder('/')).toBe(false)
  expect(isMemoryFolder('/no/such/folder')).toBe(false)
})

unlessMissing(noMemoryFolder).test('a state file has no name that others could open', () => {
  const file = openStateFile(folder)
  expect(fstatSync(file.descriptor).nlink).toBe(0)
  file.close()
})

function seal(memory: SealedMemory) {
  const file = openStateFile(folder)
  writeSync(file.descriptor, secret)
  const sealed = memory.sealFile(file.descriptor, secret.length)
  file.close()
  return sealed
}
