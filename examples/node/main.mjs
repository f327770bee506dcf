// The official OpenAI client, sealed; keeps the state of the manifest log and an evidence bundle.
import { readFileSync, writeFileSync } from 'node:fs'
import { Privatemode, PrivatemodeError } from '@privatemode/sdk'
import { acceptSoftware } from '@privatemode/sdk/software'
import OpenAI from 'openai'
import { fileStorage } from './file-storage.mjs'

const home = process.env.PRIVATEMODE_HOME ?? '../../.privatemode'
const state = process.env.PRIVATEMODE_STATE ?? 'state'
const { endpoint, logKey, softwareRoot } = JSON.parse(readFileSync(`${home}/client.json`, 'utf8'))
const apiKey = readFileSync(`${home}/api-key`, 'utf8').trim()

try {
  const software = acceptSoftware(softwareRoot)
  const manifest = { logKey }
  const storage = await fileStorage(state)
  const pm = await Privatemode.connect({ apiKey, endpoint, manifest, software, storage })
  let sealed
  const openai = new OpenAI({
    baseURL: pm.baseURL,
    apiKey,
    fetch: async (url, init) => {
      sealed = await pm.fetch(url, init)
      return sealed
    },
  })
  const models = await pm.models.list()
  const model = models.find(({ tasks }) => tasks.includes('generate'))?.id ?? ''
  const answer = await openai.chat.completions.create({
    model,
    messages: [{ role: 'user', content: process.argv[2] ?? 'Name three rivers.' }],
    max_completion_tokens: 60,
  })
  console.log(answer.choices[0].message.content)
  const { bytes, verifiedAt } = pm.verification.bundle({ receipt: await pm.receiptOf(sealed) })
  writeFileSync(`${state}/bundle.json`, bytes)
  console.log(`evidence as of ${verifiedAt.toISOString()} is in ${state}/bundle.json`)
} catch (error) {
  if (!(error instanceof PrivatemodeError)) throw error
  const advice = error.retryable ? 'try again' : 'a retry cannot help'
  console.error(`${error.code}: ${error.message} (${advice})`)
  process.exitCode = 1
}
