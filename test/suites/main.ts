/** `npm run task -- test:suites`: third-party test suites, run from checkouts against a running stack. */
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { EmbeddedStack, storyModel, vectorModel } from '../clients/embedded-stack.ts'
import { runStack } from '../e2e/running-stack.ts'
import { modelNames, runJest } from './jest-suite.ts'
import { runLlamaTests } from './llama-suite.ts'
import { runPrism } from './prism-suite.ts'
import { readSettings, usage } from './settings.ts'
import { formatResult } from './suite-result.ts'

const openaiFiles = [
  'tests/api-resources/chat/completions/completions.test.ts',
  'tests/api-resources/completions.test.ts',
  'tests/api-resources/embeddings.test.ts',
  'tests/api-resources/models.test.ts',
  'tests/api-resources/responses/responses.test.ts',
]
const anthropicFiles = [
  'tests/api-resources/messages/messages.test.ts',
  'tests/api-resources/models.test.ts',
  'tests/api-resources/beta/messages/messages.test.ts',
  'tests/api-resources/beta/models.test.ts',
]

const settings = readSettings(process.argv.slice(2))
if (settings === undefined) {
  console.log(usage)
  process.exit(2)
}
const { openai, anthropic, llama, python, prism, verbose } = settings
if (openai !== undefined) {
  const url = (proxyUrl: string) => `${proxyUrl}/v1`
  await runOfficial('openai-node', openai, openaiFiles, url)
}
if (anthropic !== undefined) {
  await runOfficial('anthropic-sdk-typescript', anthropic, anthropicFiles, (url) => url)
}
if (prism !== undefined) {
  await withScriptedStack(['scripted'], async (proxyUrl) => {
    const result = await runPrism(prism, proxyUrl, 'scripted')
    console.log(formatResult("Prism with OpenAI's description", result, verbose))
  })
}
if (llama !== undefined) {
  const stack = new EmbeddedStack()
  await stack.start()
  try {
    const target = { proxyUrl: stack.proxy.url, chatModel: storyModel, embedModel: vectorModel }
    console.log(formatResult('llama.cpp', await runLlamaTests(llama, python, target), verbose))
  } finally {
    await stack.stop()
  }
}

/** The official clients' tests name models of their makers; the stand-in server has them all. */
function runOfficial(
  name: string,
  folder: string,
  files: readonly string[],
  baseUrl: (proxyUrl: string) => string,
): Promise<void> {
  return withScriptedStack(modelNames(folder, files), async (proxyUrl) => {
    const result = await runJest(folder, files, baseUrl(proxyUrl))
    console.log(formatResult(name, result, verbose))
  })
}

async function withScriptedStack(
  models: readonly string[],
  run: (proxyUrl: string) => Promise<void>,
): Promise<void> {
  const server = startScriptedServer({ kind: 'vllm', models, vision: true })
  const stack = await runStack(['--engineUrl', server.url])
  try {
    await run(stack.proxyUrl)
  } finally {
    await stack.stop()
    await server.stop()
  }
}
