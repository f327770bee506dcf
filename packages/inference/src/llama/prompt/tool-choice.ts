/** Reads which functions a model may call, and whether it must. */
import { EngineError, type JsonObject } from '../../engine.ts'

export type Tool = {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters?: unknown
    readonly strict?: boolean
  }
}

export type ToolChoice = {
  readonly kind: 'none' | 'auto' | 'forced'
  /** The callable ones; empty if the kind is none. */
  readonly tools: readonly Tool[]
  readonly isParallel: boolean
}

const maxTools = 512

export function readToolChoice(body: JsonObject): ToolChoice {
  const tools = readTools(body.tools)
  const isParallel = body.parallel_tool_calls !== false
  const choice = body.tool_choice ?? (tools.length > 0 ? 'auto' : 'none')
  if (choice === 'none' || (choice === 'auto' && tools.length === 0))
    return { kind: 'none', tools: [], isParallel }
  if (choice === 'auto') return { kind: 'auto', tools, isParallel }
  if (choice === 'required') {
    if (tools.length === 0) throw invalid('tool_choice needs at least one tool', 'tool_choice')
    return { kind: 'forced', tools, isParallel }
  }
  const named = isObject(choice) && isObject(choice.function) ? choice.function.name : undefined
  const wanted = tools.filter((tool) => tool.function.name === named)
  if (wanted.length === 0)
    throw invalid(
      'tool_choice must be none, auto, required or name one of the tools',
      'tool_choice',
    )
  return { kind: 'forced', tools: wanted.slice(0, 1), isParallel: false }
}

function readTools(tools: unknown): Tool[] {
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools) || tools.length > maxTools)
    throw invalid(`tools must be a list of at most ${maxTools}`, 'tools')
  return tools.map((tool: unknown, at) => {
    const named = isObject(tool) ? tool.function : undefined
    const isFunction = isObject(tool) && (tool.type ?? 'function') === 'function'
    if (!isFunction || !isObject(named) || typeof named.name !== 'string' || named.name === '')
      throw invalid('a tool must be a function with a name', `tools[${at}]`)
    return { type: 'function', function: named as Tool['function'] }
  })
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const invalid = (message: string, param: string): EngineError =>
  new EngineError('invalid_value', message, { param })
