/** The script of the model: it does what the task of a coding agent wants, and otherwise what the last message orders. */
import type { Asked, ScriptedReply } from '../../packages/inference/src/testing/scripted-model.ts'
import { fileTask } from './integrations.ts'

export function integrationReply({ body, last, toolNames }: Asked): ScriptedReply | undefined {
  const shell = toolNames.find((name) => /(^|_)shell$/.test(name))
  const messages = (body.messages as { role: string }[] | undefined) ?? []
  if (shell !== undefined) {
    if (messages.some(({ role }) => role === 'tool')) return { text: 'The file is there.' }
    return { toolCalls: [{ name: shell, arguments: { command: 'echo made > proof.txt' } }] }
  }
  // aider's "whole" format: the name of the file, then all of it.
  if (last.includes(fileTask)) return { text: 'proof.txt\n```\nmade\n```\n' }
  const schema = JSON.stringify(body.response_format ?? '')
  if (schema.includes('"text"')) return { text: JSON.stringify({ text: `You said: ${last}` }) }
  return undefined
}
