/** Converts the tools of a responses request to functions, and their calls back to the original form. */
import type { JsonObject } from '../../engine.ts'
import { isObject, requireName, requireObject } from '../json-value.ts'
import { newId } from '../openai/new-id.ts'

export type ToolKind = 'function' | 'custom' | 'local_shell'
export type ToolKinds = ReadonlyMap<string, ToolKind>

/**
 * Tools that OpenAI's own servers run (search, files, images) are dropped: a model cannot call what
 * is not run here, and clients list them by default.
 */
export function translateTools(tools: readonly unknown[]): {
  tools: JsonObject[]
  kinds: ToolKinds
} {
  const kinds = new Map<string, ToolKind>()
  const functions: JsonObject[] = []
  tools.forEach((value, i) => {
    const tool = requireObject(value, `tools.${i}`)
    switch (tool.type) {
      case 'function': {
        const { type: _, ...named } = tool
        kinds.set(requireName(tool.name, `tools.${i}.name`), 'function')
        functions.push({ type: 'function', function: named })
        break
      }
      case 'custom':
        kinds.set(requireName(tool.name, `tools.${i}.name`), 'custom')
        functions.push(customFunction(tool))
        break
      case 'local_shell':
        kinds.set('local_shell', 'local_shell')
        functions.push(shellFunction)
        break
    }
  })
  return { tools: functions, kinds }
}

/** A custom tool takes free text, which becomes a function's only argument. */
function customFunction(tool: JsonObject): JsonObject {
  const format = isObject(tool.format) ? tool.format : {}
  const grammar =
    typeof format.definition === 'string'
      ? `\n\nThe input must match this ${format.syntax} grammar:\n${format.definition}`
      : ''
  return {
    type: 'function',
    function: {
      name: tool.name,
      description: `${tool.description ?? ''}${grammar}`,
      parameters: {
        type: 'object',
        properties: { input: { type: 'string' } },
        required: ['input'],
        additionalProperties: false,
      },
    },
  }
}

const shellFunction: JsonObject = {
  type: 'function',
  function: {
    name: 'local_shell',
    description: 'Runs a command on the computer of the user and returns its output.',
    parameters: {
      type: 'object',
      properties: {
        command: { type: 'array', items: { type: 'string' } },
        working_directory: { type: 'string' },
        timeout_ms: { type: 'integer' },
      },
      required: ['command'],
    },
  },
}

export function customArguments(input: string): string {
  return JSON.stringify({ input })
}

/** The output item of one call; `text` contains the arguments as the model wrote them. */
export function callItem(kind: ToolKind, callId: unknown, name: unknown, text: string): JsonObject {
  const status = 'completed'
  switch (kind) {
    case 'function':
      return {
        id: newId('fc_'),
        type: 'function_call',
        status,
        arguments: text,
        call_id: callId,
        name,
      }
    case 'custom':
      return {
        id: newId('ctc_'),
        type: 'custom_tool_call',
        status,
        call_id: callId,
        name,
        input: customInput(text),
      }
    case 'local_shell': {
      const action = { env: {}, ...parseObject(text), type: 'exec' }
      return { id: newId('lsh_'), type: 'local_shell_call', status, call_id: callId, action }
    }
  }
}

export function customInput(text: string): string {
  const { input } = parseObject(text)
  return typeof input === 'string' ? input : text
}

function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
