/** The stack's home directory: all its files, created on the first start and reused later. */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { StackError } from './stack-error.ts'

export class Home {
  readonly path: string

  constructor(path: string) {
    this.path = path
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 })
    } catch (cause) {
      throw unusable(path, cause)
    }
  }

  at(...names: string[]): string {
    return join(this.path, ...names)
  }

  read(...names: string[]): Uint8Array | undefined {
    try {
      return readFileSync(this.at(...names))
    } catch (cause) {
      if ((cause as { code?: unknown }).code === 'ENOENT') return undefined
      throw unusable(this.at(...names), cause)
    }
  }

  /** Atomic, durable when it returns, readable by the owner only. */
  write(bytes: Uint8Array | string, ...names: string[]): void {
    const path = this.at(...names)
    const partial = `${path}.${randomBytes(4).toString('hex')}.partial`
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      const file = openSync(partial, 'wx', 0o600)
      try {
        writeSync(file, typeof bytes === 'string' ? Buffer.from(bytes) : bytes)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      renameSync(partial, path)
      syncFolder(dirname(path))
    } catch (cause) {
      throw unusable(path, cause)
    }
  }

  /** The text of a file that is created once: a token, a key, an identity. */
  async once(make: () => string | Promise<string>, ...names: string[]): Promise<string> {
    const known = this.read(...names)
    if (known !== undefined) return new TextDecoder().decode(known)
    const text = await make()
    this.write(text, ...names)
    return text
  }
}

/** A rename is durable once its directory is synced. */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

function unusable(path: string, cause: unknown): StackError {
  const code = (cause as { code?: unknown }).code
  if (code === 'ENOSPC') {
    return new StackError(
      'home_unusable',
      `the disk is full: ${path} was not written; free space`,
      {
        cause,
      },
    )
  }
  const remedy = 'check its permissions, or choose another directory with --home'
  return new StackError('home_unusable', `${path} cannot be used (${String(code)}); ${remedy}`, {
    cause,
  })
}
