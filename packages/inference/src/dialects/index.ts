/** The APIs of OpenAI and Anthropic over an engine: `answer` is the whole of it. */
export { answer } from './answer.ts'
export type { ApiAnswer, ApiRequest, ApiTimes } from './api-request.ts'
export type { Usage } from './usage-meter.ts'
