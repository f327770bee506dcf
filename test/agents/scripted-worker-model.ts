/** A model's script for any agent: call the shell once, then report that it is done. */
import type { JsonObject } from '../../packages/inference/src/engine.ts'
import type { Asked, ScriptedReply } from '../../packages/inference/src/testing/scripted-model.ts'
import { farewell, shellCommand } from './agent.ts'

type Tool = {
  readonly function: {
    readonly name: string
    readonly parameters?: { readonly properties?: Readonly<Record<string, JsonObject>> }
  }
}

const shells = /^(?:bash|shell|exec_command|execute_command|run_commands?|run_terminal_command)$/i

/** Side questions without a shell, such as the one for a title, are answered as always. */
export function agentReply({ body }: Asked): ScriptedReply | undefined {
  const tools = (body.tools as Tool[] | undefined) ?? []
  const shell = tools.find((tool) => shells.test(tool.function.name))
  if (shell === undefined) return undefined
  const messages = body.messages as { role: string }[]
  if (messages.some(({ role }) => role === 'tool')) return { text: farewell }
  return { toolCalls: [{ name: shell.function.name, arguments: argumentsFor(shell) }] }
}

/** Agents name the command parameter differently; the schema decides. */
function argumentsFor({ function: { parameters } }: Tool): JsonObject {
  const properties = parameters?.properties ?? {}
  const values: JsonObject = {
    cmd: shellCommand,
    commands: [shellCommand],
    command: properties.command?.type === 'array' ? ['bash', '-c', shellCommand] : shellCommand,
    description: 'makes the file',
  }
  return Object.fromEntries(Object.entries(values).filter(([name]) => name in properties))
}
