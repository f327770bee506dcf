/** The error for a model that no worker serves; it lists the available ones. */
import { ApiError } from './errors.ts'
import { findModel, maxModelNameLength } from './model.ts'

const namedModels = 12

/** Finds a model as `findModel` does, or throws that error. */
export function requireModel<M extends { readonly id: string }>(
  models: readonly M[],
  name: string,
): M {
  const model = findModel(models, name)
  if (model !== undefined) return model
  throw unknownModel(
    name,
    models.map(({ id }) => id),
  )
}

export function unknownModel(id: string, known: readonly string[]): ApiError {
  const named = known.slice(0, namedModels).map((one) => one.slice(0, maxModelNameLength))
  if (known.length > named.length) named.push(`and ${known.length - named.length} more`)
  const choice = named.length === 0 ? 'there are no models' : `choose one of: ${named.join(', ')}`
  const shown = JSON.stringify(id.slice(0, maxModelNameLength))
  const message = `the model ${shown} does not exist; ${choice}`
  return new ApiError('model_not_found', message, { param: 'model' })
}
