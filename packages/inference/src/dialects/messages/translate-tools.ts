/** Translates tools and tool choice from messages to chat. */
import type { JsonObject } from '../../engine.ts'
import { requireName, requireObject, unsupported, wrongValue } from '../json-value.ts'

export function translateTools(tools: readonly unknown[]): JsonObject[] {
  return tools.map((value, i) => {
    const tool = requireObject(value, `tools.${i}`)
    if (tool.type !== undefined && tool.type !== null && tool.type !== 'custom')
      throw unsupported(`tools.${i}.type`, 'tools that a server runs are not supported')
    const name = requireName(tool.name, `tools.${i}.name`)
    const parameters = requireObject(tool.input_schema, `tools.${i}.input_schema`)
    const description =
      typeof tool.description === 'string' ? { description: tool.description } : {}
    const strict = typeof tool.strict === 'boolean' ? { strict: tool.strict } : {}
    return { type: 'function', function: { name, ...description, parameters, ...strict } }
  })
}

export function translateToolChoice(choice: JsonObject): JsonObject {
  const parallel = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}
  switch (choice.type) {
    case 'auto':
    case 'none':
      return { tool_choice: choice.type, ...parallel }
    case 'any':
      return { tool_choice: 'required', ...parallel }
    case 'tool': {
      const name = requireName(choice.name, 'tool_choice.name')
      return { tool_choice: { type: 'function', function: { name } }, ...parallel }
    }
  }
  throw wrongValue('tool_choice.type', 'one of auto, any, tool, none', choice.type)
}
