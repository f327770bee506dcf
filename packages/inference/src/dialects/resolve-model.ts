/** Finds the model a request names, and checks that it supports the requested task. */
import {
  ApiError,
  latestModelName,
  type ModelTask,
  requireModel,
  resolveLatest,
} from '@privatemode/protocol/api'
import type { EngineModel, JsonObject } from '../engine.ts'
import { wrongValue } from './json-value.ts'

export type ResolvedModel = { readonly model: EngineModel; readonly byDeprecatedName: boolean }

export function resolveModel(
  body: JsonObject,
  task: ModelTask,
  models: readonly EngineModel[],
  boundModel: string | undefined,
): ResolvedModel {
  const name = body.model
  if (typeof name !== 'string' || name === '')
    throw wrongValue('model', 'the name of a model', name)
  const byDeprecatedName = name === latestModelName && !models.some((model) => model.id === name)
  // The client resolved `latest` for routing; the envelope is bound to its choice.
  const newest = byDeprecatedName
    ? (models.find((model) => model.id === boundModel) ?? resolveLatest(models, task))
    : undefined
  const wanted = newest ?? requireModel(models, name)
  // A client that shortens a name, or writes `latest`, has bound the full one.
  const isBound = boundModel === undefined || boundModel === wanted.id
  if (!isBound) {
    const message = "'model' in the body differs from the model the request was sealed for"
    throw new ApiError('invalid_value', message, { param: 'model' })
  }
  if (!wanted.tasks.includes(task)) throw wrongTask(wanted, task)
  return { model: wanted, byDeprecatedName }
}

function wrongTask(model: EngineModel, task: ModelTask): ApiError {
  const message =
    task === 'embed'
      ? `model '${model.id}' does not support embeddings`
      : `model '${model.id}' only supports embeddings; use /v1/embeddings`
  return new ApiError('unsupported_value', message, { param: 'model' })
}
