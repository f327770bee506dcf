/** Serves files below one directory, and nothing else. */
import { realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { ApiError } from '@privatemode/protocol/api'

export type StaticFiles = {
  /** The file for a path relative to the directory (`tile/0/000`), or undefined. */
  find(relativePath: string): string | undefined
}

// Empty and dot segments cannot match, so a path cannot climb; encoded characters are never decoded.
const segmentShape = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/
const maxSegments = 16

/** Finds only regular files that are inside `directory` after resolving links. */
export function staticFiles(directory: string): StaticFiles {
  return {
    find(relativePath) {
      const segments = relativePath.split('/')
      if (segments.length > maxSegments) return undefined
      if (!segments.every((segment) => segmentShape.test(segment))) return undefined
      try {
        const root = realpathSync(directory)
        const path = realpathSync(join(root, ...segments))
        if (!path.startsWith(root + sep) || !statSync(path).isFile()) return undefined
        return path
      } catch {
        return undefined // missing or unreadable: the same to a caller
      }
    },
  }
}

/** One file of the manifest log (C2SP tlog-tiles): full tiles never change, all others do. */
export function serveLogFile(files: StaticFiles | undefined, relativePath: string): Response {
  const path = files?.find(relativePath)
  if (path === undefined) throw new ApiError('not_found', 'the manifest log has no such file')
  const wholeTile = relativePath.startsWith('tile/') && !relativePath.includes('.p/')
  return new Response(Bun.file(path), {
    headers: {
      'content-type':
        relativePath === 'checkpoint' ? 'text/plain; charset=utf-8' : 'application/octet-stream',
      'cache-control': wholeTile ? 'public, max-age=31536000, immutable' : 'no-cache',
      'access-control-allow-origin': '*',
      'x-content-type-options': 'nosniff',
    },
  })
}
