/** Finds the real-hardware vectors that lie beside the checkout, where they are. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Bytes } from '../bytes.ts'

const folder = new URL('../../../../../shared/vectors/', import.meta.url)

/** False where the vectors are absent; tests then skip under their own names. */
export const hasVectors = existsSync(fileURLToPath(folder))

export const readVector = (path: string): Bytes =>
  new Uint8Array(readFileSync(fileURLToPath(new URL(path, folder))))

export const readVectorText = (path: string): string =>
  readFileSync(fileURLToPath(new URL(path, folder)), 'utf8')
