/** The APIs of OpenAI and Anthropic on top of an engine; `answer` is the entry point. */
export { answer } from './answer.ts'
export type { ApiAnswer, ApiRequest, ApiTimes } from './api-request.ts'
export { type ParsedBody, parseLong } from './parse-body.ts'
export type { Usage } from './usage-meter.ts'
