/** Models by name: which ones exist, and how to provide them on this machine. */
export {
  type EnsureModelOptions,
  ensureModel,
  type ModelProgress,
  type ReadyModel,
} from './ensure-model.ts'
export {
  ensureHuggingFace,
  type HuggingFaceFile,
  huggingFaceId,
  parseHuggingFace,
} from './hugging-face.ts'
export { ModelError, type ModelErrorCode } from './model-error.ts'
export { listModels, type ModelName, type ModelRecipe } from './model-list.ts'
export { findOllamaModel } from './ollama-store.ts'
