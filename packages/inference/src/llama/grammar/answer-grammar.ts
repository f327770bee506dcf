/** The grammar of a complete answer: a schema, forced function calls, and the reasoning before them. */
import { EngineError, type JsonObject } from '../../engine.ts'
import type { NativeModel } from '../model/native-binding.ts'
import type { ToolStyle } from '../prompt/chat-template.ts'
import type { Tool, ToolChoice } from '../prompt/tool-choice.ts'
import { GrammarBuilder, literal } from './gbnf.ts'
import { addSchema } from './json-schema-grammar.ts'
import { isObject } from './schema-root.ts'

export type AnswerFrame = {
  readonly toolStyle: ToolStyle
  readonly mayThink: boolean
  readonly startsInReasoning: boolean
}

export type CompiledGrammar = ReturnType<NativeModel['createGrammar']>

const maxCalls = 16

/** The grammar that applies from the first token on; undefined if the output is unconstrained. */
export function answerGrammar(
  native: NativeModel,
  body: JsonObject,
  choice: ToolChoice,
  frame: AnswerFrame,
): CompiledGrammar | undefined {
  const builder = new GrammarBuilder()
  const format = readFormat(body.response_format)
  if (choice.kind === 'forced')
    return compile(
      native,
      builder,
      framed(builder, forcedCalls(builder, choice, frame), frame),
      'tools',
    )
  if (format === undefined) return undefined
  const schema = addFormat(builder, format)
  const content = frame.toolStyle === 'harmony' ? `"<|channel|>final<|message|>" ${schema}` : schema
  const answer =
    choice.kind === 'auto' ? `(${content} | ${forcedCalls(builder, choice, frame)})` : content
  return compile(native, builder, framed(builder, answer, frame), 'response_format')
}

/** The grammar that takes over when an unconstrained model has just started a function call. */
export function begunCallGrammar(native: NativeModel, choice: ToolChoice): CompiledGrammar {
  const builder = new GrammarBuilder()
  const call = callRule(builder, choice.tools)
  const more = choice.isParallel
    ? ` ("\\n"? "<tool_call>" "\\n"? ${call} "\\n"? "</tool_call>"){0,${maxCalls}}`
    : ''
  return compile(native, builder, `"\\n"? ${call} "\\n"? "</tool_call>"${more}`, 'tools')
}

type Format =
  | { readonly kind: 'object' }
  | { readonly kind: 'schema'; readonly schema: unknown; readonly strict: boolean }

function readFormat(format: unknown): Format | undefined {
  if (format === undefined || format === null) return undefined
  const type = isObject(format) ? format.type : undefined
  if (!isObject(format) || type === 'text') {
    if (type === 'text') return undefined
    throw invalidFormat('response_format must be an object', 'response_format')
  }
  if (type === 'json_object') return { kind: 'object' }
  if (type !== 'json_schema')
    throw invalidFormat('type must be text, json_object or json_schema', 'response_format.type')
  const given = format.json_schema
  if (!isObject(given) || given.schema === undefined)
    throw invalidFormat('json_schema must have a schema', 'response_format.json_schema')
  return { kind: 'schema', schema: given.schema, strict: given.strict === true }
}

function addFormat(builder: GrammarBuilder, format: Format): string {
  if (format.kind === 'object') return builder.json('object')
  return within('response_format', () => addSchema(builder, format.schema, format.strict))
}

function forcedCalls(builder: GrammarBuilder, choice: ToolChoice, frame: AnswerFrame): string {
  if (frame.toolStyle === 'harmony') return harmonyCalls(builder, choice.tools)
  const call = `"<tool_call>\\n" ${callRule(builder, choice.tools)} "\\n</tool_call>"`
  return choice.isParallel ? `${call} ("\\n" ${call}){0,${maxCalls - 1}}` : call
}

/** A fixed order and no optional white space, so that the call can be streamed as it is written. */
function callRule(builder: GrammarBuilder, tools: readonly Tool[]): string {
  const calls = tools.map((tool) => {
    const opening = literal(`{"name": ${JSON.stringify(tool.function.name)}, "arguments": `)
    return `${opening} ${argumentRule(builder, tool)} "}"`
  })
  return builder.add(calls.join(' | '))
}

function harmonyCalls(builder: GrammarBuilder, tools: readonly Tool[]): string {
  const calls = tools.map((tool) => {
    const opening = literal(
      `<|channel|>commentary to=functions.${tool.function.name} <|constrain|>json<|message|>`,
    )
    return `${opening} ${argumentRule(builder, tool)}`
  })
  return builder.add(calls.join(' | '))
}

function argumentRule(builder: GrammarBuilder, { function: { parameters, strict } }: Tool): string {
  if (parameters === undefined || parameters === null) return builder.json('object')
  if (isObject(parameters) && Object.keys(parameters).length === 0) return builder.json('object')
  return within('tools', () => addSchema(builder, parameters, strict === true))
}

/** Reasoning may come first if the model does that; the answer itself is always constrained. */
function framed(builder: GrammarBuilder, answer: string, frame: AnswerFrame): string {
  const thoughts = builder.add('([^<] | "<" [^/|])*')
  if (frame.toolStyle === 'harmony')
    return `("<|channel|>analysis<|message|>" ${thoughts} "<|end|><|start|>assistant")? ${answer}`
  if (frame.startsInReasoning) return `${thoughts} "</think>" [\\n]{0,2} ${answer}`
  if (frame.mayThink) return `("<think>" ${thoughts} "</think>" [\\n]{0,2})? ${answer}`
  return answer
}

function compile(
  native: NativeModel,
  builder: GrammarBuilder,
  root: string,
  param: string,
): CompiledGrammar {
  try {
    return native.createGrammar(builder.format(root))
  } catch {
    // The parser's message may quote the schema, so it is discarded.
    throw new EngineError('unsupported_value', 'the schema cannot be enforced', { param })
  }
}

function within<T>(param: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    throw new EngineError(error.code, error.message, { param })
  }
}

const invalidFormat = (message: string, param: string): EngineError =>
  new EngineError('invalid_value', message, { param })
