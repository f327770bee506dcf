/** Checks tools, tool choice, and the response format. */
import type { JsonObject } from '../../engine.ts'
import { checkToolSchemas } from '../answer-form.ts'
import {
  isObject,
  requireList,
  requireName,
  requireObject,
  unsupported,
  wrongValue,
} from '../json-value.ts'

export function checkTools(body: JsonObject): void {
  for (const name of ['functions', 'function_call'])
    if (body[name] !== undefined && body[name] !== null)
      throw unsupported(name, `'${name}' is not supported: use tools and tool_choice`)
  if (body.tools === null) delete body.tools
  const names = body.tools === undefined ? [] : checkFunctions(requireList(body.tools, 'tools'))
  checkToolChoice(body, names)
  // Some model servers refuse an empty list; without tools the two fields below are meaningless.
  if (names.length > 0) return
  delete body.tools
  delete body.tool_choice
  delete body.parallel_tool_calls
}

function checkFunctions(tools: readonly unknown[]): string[] {
  const functions = tools.map((value, i) => {
    const tool = requireObject(value, `tools.${i}`)
    if (tool.type !== 'function') throw wrongValue(`tools.${i}.type`, "'function'", tool.type)
    const named = requireObject(tool.function, `tools.${i}.function`)
    if (named.parameters === null) delete named.parameters
    const parameters =
      named.parameters === undefined
        ? undefined
        : requireObject(named.parameters, `tools.${i}.function.parameters`)
    return { name: requireName(named.name, `tools.${i}.function.name`), parameters }
  })
  checkToolSchemas(functions.map(({ parameters }) => parameters))
  return functions.map(({ name }) => name)
}

function checkToolChoice(body: JsonObject, names: readonly string[]): void {
  const choice = body.tool_choice
  if (choice === null) delete body.tool_choice
  if (choice === undefined || choice === null || choice === 'none' || choice === 'auto') return
  if (choice === 'required') {
    if (names.length === 0)
      throw wrongValue('tools', "a list of tools, since 'tool_choice' requires one", [])
    return
  }
  if (!isObject(choice) || choice.type !== 'function') {
    throw wrongValue('tool_choice', 'none, auto, required or the name of a function', choice)
  }
  const named = requireObject(choice.function, 'tool_choice.function')
  const name = requireName(named.name, 'tool_choice.function.name')
  if (!names.includes(name))
    throw wrongValue('tool_choice.function.name', "the name of a tool in 'tools'", name)
}

export function checkResponseFormat(body: JsonObject): void {
  if (body.response_format === null) delete body.response_format
  if (body.response_format === undefined) return
  const format = requireObject(body.response_format, 'response_format')
  switch (format.type) {
    case 'text':
    case 'json_object':
      return
    case 'json_schema': {
      const named = requireObject(format.json_schema, 'response_format.json_schema')
      requireName(named.name, 'response_format.json_schema.name')
      requireObject(named.schema, 'response_format.json_schema.schema')
      return
    }
  }
  throw wrongValue('response_format.type', 'one of text, json_object, json_schema', format.type)
}
