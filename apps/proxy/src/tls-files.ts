/** Reads the TLS files and passes a renewed certificate to the server without failing requests. */
import type { HttpServer, Tls } from '@privatemode/http'
import { describeError, type Log, readNamedFile, ServiceError } from '@privatemode/service'

export type TlsPaths = { readonly certPath: string; readonly keyPath: string }

const lookEveryMs = 5_000

export function readTls({ certPath, keyPath }: TlsPaths): Tls {
  return {
    certPem: readPem('--tlsCertPath', certPath),
    keyPem: readPem('--tlsKeyPath', keyPath),
  }
}

/**
 * Polls the files' content: mounted secrets are swapped by symbolic link, which file events do not
 * report reliably. Files that do not match (half written) leave the old pair in use.
 */
export function watchTls(paths: TlsPaths, server: HttpServer, log: Log): () => void {
  let current = readTls(paths)
  let failed: string | undefined
  const look = async () => {
    try {
      const found = readTls(paths)
      const text = found.certPem + found.keyPem
      if (text === current.certPem + current.keyPem || text === failed) return
      failed = text
      await server.replaceTls(found)
      current = found
      failed = undefined
      log.info('TLS certificate replaced', { file: paths.certPath })
    } catch (error) {
      log.error('the renewed TLS certificate is unusable', describeError(error))
    }
  }
  const timer = setInterval(() => void look(), lookEveryMs).unref()
  return () => clearInterval(timer)
}

function readPem(flag: string, path: string): string {
  const text = readNamedFile(flag, path).toString()
  if (text.includes('-----BEGIN ')) return text
  throw new ServiceError('certificate_unusable', `${flag} names ${path}, which is not PEM`)
}
