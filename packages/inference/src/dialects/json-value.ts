/** Narrowing of parsed JSON, and descriptions of what was found instead. */
import { ApiError } from '@privatemode/protocol/api'
import type { JsonObject } from '../engine.ts'

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Looks up an untrusted name in a table, ignoring inherited properties. */
export function lookUp<T>(table: Readonly<Record<string, T>>, name: unknown): T | undefined {
  return typeof name === 'string' && Object.hasOwn(table, name) ? table[name] : undefined
}

/** The kind of a value, never the value, which could be a prompt. Numbers are harmless and may be shown. */
export function describe(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'number') return String(value)
  if (value === '') return 'an empty string'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

export function wrongValue(param: string, expected: string, value: unknown): ApiError {
  if (value === undefined) {
    return new ApiError('missing_parameter', `'${param}' is required: ${expected}`, { param })
  }
  const message = `'${param}' must be ${expected}, not ${describe(value)}`
  return new ApiError('invalid_value', message, { param })
}

export function unsupported(param: string, message: string): ApiError {
  return new ApiError('unsupported_parameter', message, { param })
}

export function requireObject(value: unknown, param: string): JsonObject {
  if (!isObject(value)) throw wrongValue(param, 'an object', value)
  return value
}

export function requireList(value: unknown, param: string): unknown[] {
  if (!Array.isArray(value)) throw wrongValue(param, 'a list', value)
  return value
}

export function requireText(value: unknown, param: string): string {
  if (typeof value !== 'string') throw wrongValue(param, 'a string', value)
  return value
}

export function requireName(value: unknown, param: string): string {
  if (typeof value !== 'string' || value === '' || value.length > 256)
    throw wrongValue(param, 'a string of 1 to 256 characters', value)
  return value
}
