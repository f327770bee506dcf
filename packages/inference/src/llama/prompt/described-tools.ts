/** Describes functions to a model as text, if its chat template does not support them. */
import type { TemplateMessage } from './chat-messages.ts'
import type { Tool } from './tool-choice.ts'

/** The messages with functions, calls and results written out as text. */
export function describeTools(
  messages: readonly TemplateMessage[],
  tools: readonly Tool[],
): TemplateMessage[] {
  const written = messages.map(writeOut)
  if (tools.length === 0) return written
  const [first, ...rest] = written
  const system = first?.role === 'system' ? `${first.content}\n\n` : ''
  const others = first?.role === 'system' ? rest : written
  return [{ role: 'system', content: `${system}${instructions(tools)}` }, ...others]
}

function writeOut(message: TemplateMessage): TemplateMessage {
  if (message.role === 'tool')
    return { role: 'user', content: `<tool_response>\n${message.content}\n</tool_response>` }
  if (message.tool_calls === undefined) return message
  const calls = message.tool_calls.map(({ function: { name, arguments: values } }) => {
    const written = `{"name": ${JSON.stringify(name)}, "arguments": ${JSON.stringify(values)}}`
    return `<tool_call>\n${written}\n</tool_call>`
  })
  const text = message.content === '' ? [] : [message.content]
  return { role: 'assistant', content: [...text, ...calls].join('\n') }
}

function instructions(tools: readonly Tool[]): string {
  const described = tools.map(({ function: { name, description, parameters } }) =>
    JSON.stringify({ name, description, parameters }),
  )
  return [
    'You can call functions to help the user. These functions are available:',
    ...described,
    'To call one, answer with nothing but its name and arguments in this form:',
    '<tool_call>\n{"name": "…", "arguments": {…}}\n</tool_call>',
    'The result then follows in a <tool_response>. Answer without a call when none is needed.',
  ].join('\n')
}
