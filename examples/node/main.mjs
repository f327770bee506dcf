// The official OpenAI client, sealed; keeps the state of the manifest log and an evidence bundle.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Privatemode, PrivatemodeError } from '@privatemode/sdk'
import { acceptSoftware } from '@privatemode/sdk/software'
import OpenAI from 'openai'

const home = process.env.PRIVATEMODE_HOME ?? '../../.privatemode'
const state = process.env.PRIVATEMODE_STATE ?? 'state'
const { endpoint, logKey, softwareRoot } = JSON.parse(readFileSync(`${home}/client.json`, 'utf8'))
const apiKey = readFileSync(`${home}/api-key`, 'utf8').trim()
mkdirSync(state, { recursive: true })

/** Files as storage: the log cannot go back between two runs unnoticed. */
const fileOf = (key) => `${state}/${encodeURIComponent(key)}`
const storage = {
  async get(key) {
    try {
      return readFileSync(fileOf(key), 'utf8')
    } catch (error) {
      if (error.code === 'ENOENT') return undefined
      throw error
    }
  },
  set: async (key, value) => writeFileSync(fileOf(key), value),
}

try {
  const software = acceptSoftware(softwareRoot)
  const manifest = { logKey }
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
