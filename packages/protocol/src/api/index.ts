/** The public API in clear text: routes, errors, models, events and the body scanner. */
export {
  ApiError,
  type ApiErrorCode,
  type ApiErrorOptions,
  codeOfStatus,
  formatError,
  formatErrorBody,
  formatRelayError,
  parseRelayError,
  type WireError,
} from './errors.ts'
export { fromFinishReason, type Held, HeldEnding, lastEvent } from './held-ending.ts'
export {
  findModel,
  formatModel,
  formatModelList,
  type InputModality,
  latestModelName,
  type ModelFacts,
  type ModelList,
  type ModelObject,
  type ModelTask,
  maxModelNameLength,
  parseModel,
  resolveLatest,
} from './model.ts'
export {
  type Dialect,
  dialectOf,
  type Endpoint,
  type FoundRoute,
  findRoute,
  type Route,
  routes,
} from './routes.ts'
export {
  type BodyScan,
  BodyScanner,
  defaultScanLimits,
  type ScanLimits,
  scanBody,
} from './scan-body.ts'
export { encodeComment, encodeEvent, SseDecoder, SseError, type SseEvent } from './sse.ts'
export { requireModel, unknownModel } from './unknown-model.ts'
export { parseUnsealedError, type UnsealedErrorCode } from './unsealed-errors.ts'
