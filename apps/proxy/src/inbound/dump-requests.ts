/** Writes requests and their answers in clear text, for debugging; keys are removed. */
import { chmodSync, mkdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type DumpedRequest = {
  /** Writes the pair of files; the body may be in pieces. */
  end(
    requestId: string,
    status: number,
    headers: Readonly<Record<string, string>>,
    body: readonly Uint8Array[],
  ): void
}

export type Dump = {
  begin(
    method: string,
    path: string,
    headers: Iterable<readonly [string, string]>,
    body: Uint8Array,
  ): DumpedRequest
  /** Resolves when every started file is written. */
  settled(): Promise<void>
}

const redacted: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-api-key',
])

/** Files go to `requests/YYYY-MM-DD/` in the workspace, readable by their owner only. */
export function createDump(workspace: string, onError: (error: unknown) => void): Dump {
  const writing = new Set<Promise<void>>()

  async function write(directory: string, name: string, content: Buffer): Promise<void> {
    try {
      makePrivateDirectory(directory)
      await writeFile(join(directory, name), content, { mode: 0o600, flag: 'wx' })
    } catch (error) {
      onError(error)
    }
  }

  function start(directory: string, name: string, content: Buffer): void {
    const done: Promise<void> = write(directory, name, content).finally(() => writing.delete(done))
    writing.add(done)
  }

  return {
    begin(method, path, headers, body) {
      const time = new Date().toISOString()
      const request = formatMessage(`${method} ${path} HTTP/1.1`, headers, [body])
      return {
        end(requestId, status, answerHeaders, answerBody) {
          const directory = join(workspace, 'requests', time.slice(0, 10))
          const name = `${time.slice(11).replaceAll(':', '')}-${requestId}`
          const response = formatMessage(
            `HTTP/1.1 ${status}`,
            Object.entries(answerHeaders),
            answerBody,
          )
          start(directory, `${name}-request.txt`, request)
          start(directory, `${name}-response.txt`, response)
        },
      }
    },
    async settled() {
      await Promise.all(writing)
    },
  }
}

function makePrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  chmodSync(directory, 0o700)
}

function formatMessage(
  firstLine: string,
  headers: Iterable<readonly [string, string]>,
  body: readonly Uint8Array[],
): Buffer {
  const lines = [firstLine]
  for (const [name, value] of headers) {
    lines.push(`${name}: ${redacted.has(name.toLowerCase()) ? '[redacted]' : value}`)
  }
  return Buffer.concat([Buffer.from(`${lines.join('\n')}\n\n`), ...body])
}
