/** The real stack in front of a scripted model server, and what a client is told about it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../packages/inference/src/testing/scripted-server.ts'
import { type RunningStack, runStack } from '../e2e/running-stack.ts'
import type { SuiteConfig } from './case.ts'

export type SuiteStack = {
  readonly config: SuiteConfig
  readonly stack: RunningStack
  /** The model server itself, to compare with. */
  readonly server: ScriptedServer
  stop(): Promise<void>
}

export async function startSuiteStack(): Promise<SuiteStack> {
  const server = startScriptedServer({ kind: 'vllm', cache: 'salted' })
  const stack = await runStack(['--engineUrl', server.url])
  const client = JSON.parse(readFileSync(join(stack.home, 'client.json'), 'utf8'))
  return {
    config: { ...client, apiKey: stack.apiKey.trim(), model: 'scripted' },
    stack,
    server,
    async stop() {
      await stack.stop()
      await server.stop()
    },
  }
}
