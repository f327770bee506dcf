/** Models by name: what there is, and how to have it ready on this machine. */
export {
  type EnsureModelOptions,
  ensureModel,
  type ModelProgress,
  type ReadyModel,
} from './ensure-model.ts'
export { ModelError, type ModelErrorCode } from './model-error.ts'
export { listModels, type ModelName, type ModelRecipe } from './model-list.ts'
