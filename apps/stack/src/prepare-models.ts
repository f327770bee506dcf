/** Provides the models, and the facts about them for the worker and the manifest. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { ModelListing } from '@privatemode/attestation'
import { childEnvironment } from '@privatemode/service/end-with-parent'
import type { Home } from './home.ts'
import {
  ensureHuggingFace,
  ensureModel,
  findOllamaModel,
  huggingFaceId,
  listModels,
  type ModelProgress,
  type ModelRecipe,
  parseHuggingFace,
} from './models/index.ts'
import type { Settings } from './settings.ts'
import { StackError } from './stack-error.ts'

export type Description = { readonly measurement: string; readonly models: readonly ModelListing[] }

type ModelEntry = {
  readonly id: string
  readonly path: string
  readonly task: 'generate' | 'embed'
  readonly display_name?: string
  readonly sha256?: string
  readonly sampling?: ModelRecipe['sampling']
}

/** The arguments that tell a worker which engine and models to run. */
export async function prepareEngine(
  home: Home,
  settings: Settings,
  onProgress: (progress: ModelProgress) => void,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<string[]> {
  if (settings.engineUrl !== undefined)
    return [
      ...['--engineUrl', settings.engineUrl],
      ...(settings.acceptSharedCache ? ['--acceptSharedCache'] : []),
    ]
  const cacheDir = home.at('models')
  const ready = async (name: string, task: ModelEntry['task']): Promise<ModelEntry> => {
    const stored = findOllamaModel(name, settings.ollamaModels)
    if (stored !== undefined) return { ...stored, task }
    const remote = parseHuggingFace(name)
    if (remote !== undefined) {
      const { endpoint, token } = settings.huggingFace
      const { path, sha256 } = await ensureHuggingFace(remote, {
        ...{ cacheDir, endpoint, onProgress, signal, say },
        pinsPath: home.at('model-pins.json'),
        token: token && (() => token.reveal()),
      })
      return { id: huggingFaceId(remote), path, task, sha256 }
    }
    const recipe = listModels().find((known) => known.name === name)
    if (recipe === undefined) return customModel(name, task)
    if (recipe.task !== task) {
      throw new StackError('model_unusable', `${name} is a model for ${recipe.task}, not ${task}`)
    }
    const { path, sha256 } = await ensureModel(name, { cacheDir, onProgress, signal })
    const { title, sampling } = recipe
    return { id: name, path, task, display_name: title, sha256, ...(sampling && { sampling }) }
  }
  const entries = [await ready(settings.chatModel, 'generate')]
  if (settings.embedModel !== 'none') entries.push(await ready(settings.embedModel, 'embed'))
  home.write(`${JSON.stringify(entries, null, 2)}\n`, 'models.json')
  return ['--modelsFile', home.at('models.json')]
}

function customModel(path: string, task: ModelEntry['task']): ModelEntry {
  if (!path.endsWith('.gguf') || !existsSync(path)) {
    const names = listModels().map((known) => known.name)
    throw new StackError(
      'model_unusable',
      `${path} is neither a model that can be fetched (${names.join(', ')}) nor a GGUF file; hf:ORG/REPO/FILE.gguf and ollama:NAME work too`,
    )
  }
  return { id: basename(path, '.gguf'), path: resolve(path), task }
}

/** Asks the worker what a manifest must list; the answer is cached while nothing changes. */
export async function describeEngine(
  home: Home,
  settings: Settings,
  engineArgs: readonly string[],
  workerProgram: string,
  stamp: string,
): Promise<Description> {
  const key = createHash('sha256')
    .update(`${stamp}\n${engineArgs.join(' ')}\n`)
    .update(home.read('models.json') ?? '')
    .digest('hex')
  const cached = home.read('worker-description.json')
  if (cached !== undefined && settings.engineUrl === undefined) {
    const known = JSON.parse(new TextDecoder().decode(cached)) as { key?: string } & Description
    if (known.key === key) return known
  }
  const child = Bun.spawn([process.execPath, workerProgram, 'describe', ...engineArgs], {
    env: childEnvironment(process.env),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) {
    const reason = errors.trim().split('\n').at(-1) ?? 'no reason given'
    throw new StackError('model_unusable', `the engine did not start: ${reason}`)
  }
  const description = JSON.parse(output) as Description
  home.write(JSON.stringify({ key, ...description }), 'worker-description.json')
  return description
}
