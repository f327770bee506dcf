/** Converts the sampling options of a request to the native sampler's configuration. */
import { randomInt } from 'node:crypto'
import { EngineError, type JsonObject } from '../../engine.ts'
import type { NativeSamplerConfig } from '../model/native-binding.ts'

/** Values for requests without options; without any of them, the model's plain distribution. */
export type SamplingDefaults = {
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly minP?: number
  readonly repetitionPenalty?: number
}

export type SamplingContext = {
  readonly defaults: SamplingDefaults
  readonly vocabularySize: number
  readonly contextLength: number
  readonly prompt: readonly number[]
}

const repetitionWindow = 256
const bannedAt = -100

/** The configuration of each of `choices` samplers: each derives its own seed from the request's. */
export function readSampling(
  body: JsonObject,
  context: SamplingContext,
  choices: number,
): NativeSamplerConfig[] {
  const { defaults } = context
  const temperature = number(body, 'temperature', 0, 2) ?? defaults.temperature ?? 1
  const topP = number(body, 'top_p', 0, 1) ?? defaults.topP ?? 1
  const topK = number(body, 'top_k', -1, 1e9) ?? defaults.topK ?? 0
  const minP = number(body, 'min_p', 0, 1) ?? defaults.minP ?? 0
  const config = {
    temperature,
    ...(temperature > 0 && topK > 0 ? { topK: Math.floor(topK) } : {}),
    ...(temperature > 0 && topP < 1 ? { topP } : {}),
    ...(temperature > 0 && minP > 0 ? { minP } : {}),
    ...readPenalties(body, context),
    ...readBias(body, context.vocabularySize),
  }
  const seed = readSeed(body)
  return Array.from({ length: choices }, (_, at) => ({ ...config, seed: (seed + at) >>> 0 }))
}

function readPenalties(
  body: JsonObject,
  { defaults, contextLength, prompt }: SamplingContext,
): Partial<NativeSamplerConfig> {
  const frequency = number(body, 'frequency_penalty', -2, 2) ?? 0
  const presence = number(body, 'presence_penalty', -2, 2) ?? 0
  const repetition = number(body, 'repetition_penalty', 0.01, 10) ?? defaults.repetitionPenalty ?? 1
  if (frequency === 0 && presence === 0 && repetition === 1) return {}
  // OpenAI's penalties apply to the answer only, the repetition penalty to the prompt as well. The
  // native sampler has one window for all three: the answer, if one of the former is set.
  const looksAtAnswer = frequency !== 0 || presence !== 0
  const tail = looksAtAnswer ? [] : prompt.slice(-repetitionWindow)
  return {
    repeatPenalty: repetition,
    repeatPenaltyFrequencyPenalty: frequency,
    repeatPenaltyPresencePenalty: presence,
    repeatPenaltyMaxTokens: looksAtAnswer ? contextLength : repetitionWindow,
    repeatPenaltyTokens: Uint32Array.from(tail),
  }
}

function readBias(body: JsonObject, vocabularySize: number): Partial<NativeSamplerConfig> {
  const given = body.logit_bias
  if (given === undefined || given === null) return {}
  const entries = typeof given === 'object' && !Array.isArray(given) ? Object.entries(given) : []
  const keys: number[] = []
  const values: number[] = []
  for (const [name, value] of entries) {
    const token = Number(name)
    if (!/^\d+$/.test(name) || token >= vocabularySize)
      throw invalid(`token ids must be from 0 to ${vocabularySize - 1}`, 'logit_bias')
    if (typeof value !== 'number' || !(value >= -100 && value <= 100))
      throw invalid('values must be from -100 to 100', 'logit_bias')
    keys.push(token)
    values.push(value <= bannedAt ? Number.NEGATIVE_INFINITY : value)
  }
  if (keys.length === 0) return {}
  return { tokenBiasKeys: Uint32Array.from(keys), tokenBiasValues: Float32Array.from(values) }
}

/** Any integer is accepted as a seed; the native sampler uses 32 bits of it. */
function readSeed(body: JsonObject): number {
  const seed = body.seed
  if (seed === undefined || seed === null) return randomInt(2 ** 32)
  if (typeof seed !== 'number' || !Number.isInteger(seed))
    throw invalid('seed must be a whole number', 'seed')
  const low = Number(BigInt.asUintN(32, BigInt(seed)))
  const high = Number(BigInt.asIntN(32, BigInt(seed) >> 32n))
  return (low + Math.imul(high, 0x9e3779b1)) >>> 0
}

/** A number within its bounds, or undefined if the field is absent or null. */
export function number(
  body: JsonObject,
  name: string,
  min: number,
  max: number,
): number | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || !(value >= min && value <= max))
    throw invalid(`${name} must be a number from ${min} to ${max}`, name)
  return value
}

/** Like `number`, for integers. */
export function integer(
  body: JsonObject,
  name: string,
  min: number,
  max: number,
): number | undefined {
  const value = number(body, name, min, max)
  if (value !== undefined && !Number.isInteger(value))
    throw invalid(`${name} must be a whole number`, name)
  return value
}

const invalid = (message: string, param: string): EngineError =>
  new EngineError('invalid_value', message, { param })
