/** Reads test vectors: evidence from real hardware, published by others (test/vectors/README.md). */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Bytes } from '../bytes.ts'

/** Absolute path of a file or folder below `test/vectors`. */
export const vectorPath = (path: string): string =>
  fileURLToPath(new URL(`../../../../test/vectors/${path}`, import.meta.url))

export const readVector = (path: string): Bytes => new Uint8Array(readFileSync(vectorPath(path)))

export const readVectorText = (path: string): string => readFileSync(vectorPath(path), 'utf8')
