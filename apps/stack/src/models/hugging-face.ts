/**
 * Fetches a GGUF file from Hugging Face: resumed after an interruption, pinned by hash after the
 * first time.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isLoopback } from '@privatemode/service'
import type { ModelProgress, ReadyModel } from './ensure-model.ts'
import { hashFile, moveIntoPlace } from './hashed-file.ts'
import { explainFailure, ModelError, throwIfAborted } from './model-error.ts'

export type HuggingFaceFile = { readonly repository: string; readonly path: string }

export type HuggingFaceOptions = {
  readonly cacheDir: string
  /** A JSON object with the hash each model had when it was first fetched. */
  readonly pinsPath: string
  /** `https://huggingface.co`, or a mirror. */
  readonly endpoint: string
  /** Reveals the access token for repositories that need one. */
  readonly token?: (() => string) | undefined
  readonly onProgress?: ((progress: ModelProgress) => void) | undefined
  readonly say?: ((line: string) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

const name = /^hf:([\w.-]+\/[\w.-]+)\/((?:[\w.-]+\/)*[\w.-]+\.gguf)$/
const reportEveryBytes = 4 * 1024 * 1024

/** `undefined` if the text does not start with `hf:`; throws if it does but names no file. */
export function parseHuggingFace(text: string): HuggingFaceFile | undefined {
  if (!text.startsWith('hf:')) return undefined
  const [, repository, path] = name.exec(text) ?? []
  const isSafe = !text.split('/').some((part) => part === '.' || part === '..')
  if (repository === undefined || path === undefined || !isSafe)
    throw new ModelError(
      'model_unknown',
      `${text} does not name a file on Hugging Face: write hf:ORG/REPO/FILE.gguf`,
    )
  return { repository, path }
}

/** Returns the path of a file whose hash is the same as the first time. */
export async function ensureHuggingFace(
  file: HuggingFaceFile,
  options: HuggingFaceOptions,
): Promise<ReadyModel> {
  const { cacheDir, signal } = options
  const id = `hf:${file.repository}/${file.path}`
  // Different ids have different names: otherwise one repository's file would be taken for another's.
  const path = join(cacheDir, encodeURIComponent(id))
  const report = (step: ModelProgress['step'], doneBytes: number, totalBytes: number) =>
    options.onProgress?.({ model: id, step, doneBytes, totalBytes })
  try {
    throwIfAborted(signal)
    await mkdir(cacheDir, { recursive: true })
    const pins = readPins(options.pinsPath)
    const isCached = existsSync(path)
    const from = isCached ? path : await download(file, `${path}.part`, options, report)
    const { size } = await stat(from)
    report('check', 0, size)
    const { sha256 } = await hashFile(from, signal)
    const pinned = pins[id]
    if (pinned !== undefined && pinned !== sha256)
      throw new ModelError(
        'hash_mismatch',
        `${id} has SHA-256 ${sha256}, but had ${pinned} the first time: it was changed. To accept the new file, remove ${from === path ? `${path} and ` : ''}its line in ${options.pinsPath}, then start again`,
      )
    if (!isCached) await moveIntoPlace(from, path)
    await rm(`${path}.part.json`, { force: true })
    if (pinned === undefined) {
      writeFileSync(options.pinsPath, `${JSON.stringify({ ...pins, [id]: sha256 }, null, 2)}\n`)
      options.say?.(`${id}: SHA-256 ${sha256}, pinned in ${options.pinsPath}`)
    }
    report('ready', size, size)
    return { path, sha256 }
  } catch (error) {
    throw explainFailure(error, cacheDir)
  }
}

/** Continues the download that an earlier start left, if the server still has the same file. */
async function download(
  file: HuggingFaceFile,
  part: string,
  options: HuggingFaceOptions,
  report: (step: 'download', doneBytes: number, totalBytes: number) => void,
): Promise<string> {
  const { endpoint, token, say, signal } = options
  const had = existsSync(part) ? (await stat(part)).size : 0
  const etag = had === 0 ? undefined : readEtag(`${part}.json`)
  const resumed = etag === undefined ? 0 : had
  const url = `${endpoint}/${file.repository}/resolve/main/${file.path}`
  if (
    token !== undefined &&
    new URL(url).protocol === 'http:' &&
    !isLoopback(new URL(url).hostname)
  )
    throw new ModelError(
      'download_failed',
      `HF_TOKEN would be sent to ${new URL(url).host} unencrypted: use an https mirror in HF_ENDPOINT, or unset HF_TOKEN`,
    )
  const response = await request(
    url,
    {
      ...(token === undefined ? {} : { authorization: `Bearer ${token()}` }),
      ...(resumed === 0 ? {} : { range: `bytes=${resumed}-`, 'if-range': etag ?? '' }),
      'accept-encoding': 'identity',
    },
    signal,
  )
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '')
  const from = response.status === 206 && Number(range?.[1]) === resumed ? resumed : 0
  if (response.status === 206 && from !== resumed)
    throw new ModelError(
      'download_failed',
      `${url} answered with a different range than requested: start again`,
    )
  const length = from === 0 ? response.headers.get('content-length') : range?.[2]
  if (length == null)
    throw new ModelError(
      'download_failed',
      `${url} does not say how long it is: use another mirror`,
    )
  const total = Number(length)
  if (from > 0) say?.(`Continuing the download of ${file.path} at ${megabytes(from)} MB.`)
  const tag = response.headers.get('etag')
  // Without a strong ETag, there is no telling whether the rest belongs to the same file.
  if (tag === null || tag.startsWith('W/')) await rm(`${part}.json`, { force: true })
  else writeFileSync(`${part}.json`, JSON.stringify({ etag: tag }))
  const handle = await open(part, from === 0 ? 'w' : 'a', 0o600)
  let done = from
  try {
    let told = done
    report('download', done, total)
    for await (const chunk of response.body ?? []) {
      throwIfAborted(signal)
      await handle.writeFile(chunk)
      done += chunk.length
      if (done - told < reportEveryBytes) continue
      told = done
      report('download', done, total)
    }
    await handle.sync()
  } catch (error) {
    throwIfAborted(signal)
    throw new ModelError(
      'download_failed',
      `the connection to ${new URL(url).host} was lost after ${megabytes(done)} of ${megabytes(total)} MB: start again to continue from there`,
      { cause: error },
    )
  } finally {
    await handle.close()
  }
  if (done !== total)
    throw new ModelError(
      'download_failed',
      `${url} ended after ${done} of ${total} bytes: start again to continue from there`,
    )
  return part
}

async function request(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const response = await fetch(url, { headers, ...(signal === undefined ? {} : { signal }) }).catch(
    (cause: unknown) => {
      throwIfAborted(signal)
      throw new ModelError(
        'download_failed',
        `cannot reach ${new URL(url).origin}: check the network; HF_ENDPOINT names a mirror`,
        { cause },
      )
    },
  )
  if (response.ok) return response
  await response.body?.cancel()
  const { status } = response
  if (status === 401 || status === 403)
    throw new ModelError(
      'download_failed',
      `${url} answered ${status}: the repository does not exist or needs an access token; set HF_TOKEN`,
    )
  if (status === 404)
    throw new ModelError('model_unknown', `${url} does not exist: check repository and file name`)
  throw new ModelError('download_failed', `${url} answered ${status}: try again later`)
}

function readEtag(path: string): string | undefined {
  try {
    const { etag } = JSON.parse(readFileSync(path, 'utf8')) as { etag?: unknown }
    return typeof etag === 'string' ? etag : undefined
  } catch {
    return undefined
  }
}

function readPins(path: string): Record<string, string> {
  if (!existsSync(path)) return {}
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>
  } catch (cause) {
    // If a broken file counted as empty, any model would be accepted.
    throw new ModelError('cache_unusable', `${path} is not JSON: repair or remove it`, { cause })
  }
}

/** The part of the name under which models are listed. */
export function huggingFaceId({ path }: HuggingFaceFile): string {
  return (path.split('/').at(-1) ?? path).replace(/\.gguf$/, '')
}

const megabytes = (bytes: number): number => Math.round(bytes / 1e6)
