/** Creates the tokens of a chat prompt from a request, using the model's own template. */
import { EngineError, type JsonObject } from '../../engine.ts'
import { readMessages, type TemplateMessage } from './chat-messages.ts'
import type { ChatTemplate } from './chat-template.ts'
import { describeTools } from './described-tools.ts'
import type { PromptTokens } from './prompt-tokens.ts'
import { readToolChoice, type ToolChoice } from './tool-choice.ts'

export type ChatPrompt = {
  readonly tokens: readonly number[]
  readonly choice: ToolChoice
  /** Whether the prompt ends inside the model's reasoning. */
  readonly startsInReasoning: boolean
  /** Whether the prompt ends with the start of an answer, which the model goes on with. */
  readonly continues: boolean
}

export function makeChatPrompt(
  body: JsonObject,
  template: ChatTemplate,
  tokenizer: PromptTokens,
): ChatPrompt {
  const choice = readToolChoice(body)
  tokenizer.refuseMore(Array.isArray(body.messages) ? body.messages.length : 0, 'messages')
  const read = readMessages(body.messages)
  tokenizer.refuseUnfitting([read, choice.tools], 'messages')
  const foreign = tokenizer.newForeignText()
  const isDescribed = template.toolStyle === 'described'
  const begun = body.continue_final_message === true ? begunAnswer(read) : undefined
  const earlier = begun === undefined ? read : read.slice(0, -1)
  const messages = foreign.protect(isDescribed ? describeTools(earlier, choice.tools) : earlier)
  const tools =
    isDescribed || choice.tools.length === 0 ? {} : { tools: foreign.protect(choice.tools) }
  const variables = { ...templateOptions(body), ...tools }
  const opened = renderFitting(messages, variables, template)
  const rendered =
    begun === undefined ? opened : continued(opened, foreign.protect(begun), template)
  return {
    tokens: tokenizer.ofPieces(foreign.split(rendered)),
    choice,
    startsInReasoning: begun === undefined && opensReasoning.test(opened),
    continues: begun !== undefined,
  }
}

const opensReasoning = /<think>\s*$/

/** The last message, if it is an answer that can be continued. */
function begunAnswer(messages: readonly TemplateMessage[]): TemplateMessage {
  const last = messages.at(-1)
  if (last?.role === 'assistant' && last.tool_calls === undefined) return last
  throw new EngineError(
    'invalid_value',
    'continue_final_message needs an assistant message without tool calls at the end',
    { param: 'messages' },
  )
}

/**
 * The text of a started answer after the prompt that asks for one. Templates close each message, so
 * it cannot be one of theirs.
 */
function continued(opened: string, begun: TemplateMessage, template: ChatTemplate): string {
  const { content, reasoning_content: reasoning = '' } = begun
  if (template.toolStyle === 'harmony') return `${opened}<|channel|>final<|message|>${content}`
  // The answer comes after the reasoning, even if there was none.
  if (opensReasoning.test(opened)) return `${opened}${reasoning}\n</think>\n\n${content}`
  return `${opened}${content}`
}

/**
 * Some templates refuse a system message or two turns of the same role; the content is then moved
 * into other turns.
 */
function renderFitting(
  messages: readonly TemplateMessage[],
  variables: JsonObject,
  template: ChatTemplate,
): string {
  const given = template.hasSystemRole ? messages : intoUserTurns(messages)
  const rendered =
    template.render({ ...variables, messages: given }) ??
    template.render({ ...variables, messages: joinTurns(given) }) ??
    template.render({ ...variables, messages: intoUserTurns(messages) })
  if (rendered !== undefined) return rendered
  throw new EngineError(
    'invalid_value',
    "the model's chat template does not accept these messages",
    { param: 'messages' },
  )
}

const intoUserTurns = (messages: readonly TemplateMessage[]): TemplateMessage[] =>
  joinTurns(
    messages.map((message) => (message.role === 'system' ? { ...message, role: 'user' } : message)),
  )

function joinTurns(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const joined: TemplateMessage[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    const isSame = last?.role === message.role && message.role !== 'tool'
    if (last === undefined || !isSame || last.tool_calls || message.tool_calls) joined.push(message)
    else joined[joined.length - 1] = { ...last, content: `${last.content}\n\n${message.content}` }
  }
  return joined
}

/** What a request may pass to a template: the reasoning effort, and plain values of its own. */
function templateOptions(body: JsonObject): JsonObject {
  const effort = body.reasoning_effort
  const given = body.chat_template_kwargs
  const options: JsonObject = {}
  if (typeof effort === 'string') {
    options.enable_thinking = effort !== 'none' && effort !== 'minimal'
    if (effort !== 'none') options.reasoning_effort = effort
  }
  if (given === undefined || given === null) return options
  if (typeof given !== 'object' || Array.isArray(given))
    throw new EngineError('invalid_value', 'chat_template_kwargs must be an object', {
      param: 'chat_template_kwargs',
    })
  for (const [name, value] of Object.entries(given))
    if (['string', 'number', 'boolean'].includes(typeof value) && !reserved.has(name))
      options[name] = value
  return options
}

const reserved = new Set(['messages', 'tools', 'bos_token', 'eos_token', 'add_generation_prompt'])
