/** Finds the weights of a model that Ollama has already downloaded, for the embedded engine. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ModelError } from './model-error.ts'

export type OllamaModel = { readonly id: string; readonly path: string; readonly sha256: string }

const name = /^ollama:((?:[\w.-]+\/)?[\w.-]+)(?::([\w.-]+))?$/
const weights = 'application/vnd.ollama.image.model'
const digest = /^sha256:([0-9a-f]{64})$/

/**
 * `undefined` if the text does not start with `ollama:`. `store` is Ollama's model directory. Ollama
 * itself is not contacted and need not run; it stores each file under the name of its hash.
 */
export function findOllamaModel(text: string, store: string): OllamaModel | undefined {
  if (!text.startsWith('ollama:')) return undefined
  const [, model, tag = 'latest'] = name.exec(text) ?? []
  if (model === undefined || /(^|\/)\.\.?(\/|$)/.test(`${model}/${tag}`))
    throw new ModelError(
      'model_unknown',
      `${text} names no model of Ollama: write ollama:NAME or ollama:NAME:TAG`,
    )
  const path = model.includes('/') ? model : `library/${model}`
  const manifest = join(store, 'manifests', 'registry.ollama.ai', ...path.split('/'), tag)
  if (!existsSync(manifest))
    throw new ModelError(
      'model_unknown',
      `Ollama has no ${model}:${tag} in ${store}: run "ollama pull ${model}:${tag}"; OLLAMA_MODELS names another folder`,
    )
  const sha256 = readDigest(manifest)
  const blob = sha256 === undefined ? undefined : join(store, 'blobs', `sha256-${sha256}`)
  if (sha256 === undefined || blob === undefined || !existsSync(blob))
    throw new ModelError(
      'source_malformed',
      `${manifest} names no GGUF file that is there: run "ollama pull ${model}:${tag}" again`,
    )
  return { id: tag === 'latest' ? model : `${model}-${tag}`, path: blob, sha256 }
}

function readDigest(manifest: string): string | undefined {
  try {
    const { layers } = JSON.parse(readFileSync(manifest, 'utf8')) as {
      layers?: { mediaType?: unknown; digest?: unknown }[]
    }
    const layer = layers?.find(({ mediaType }) => mediaType === weights)
    return digest.exec(String(layer?.digest))?.[1]
  } catch {
    return undefined
  }
}
