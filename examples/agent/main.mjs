// A small coding agent: it lists and reads the files of one folder to answer a question about them.
import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import { Privatemode } from '@privatemode/sdk'
import { acceptSoftware } from '@privatemode/sdk/software'
import OpenAI from 'openai'

const [folder = '.', question = 'What is this project about?'] = process.argv.slice(2)
const home = process.env.PRIVATEMODE_HOME ?? '../../.privatemode'
const { endpoint, logKey, softwareRoot } = JSON.parse(readFileSync(`${home}/client.json`, 'utf8'))
const apiKey = readFileSync(`${home}/api-key`, 'utf8').trim()

const pm = await Privatemode.connect({
  apiKey,
  endpoint,
  manifest: { logKey },
  software: acceptSoftware(softwareRoot), // your own machine protects nothing; production leaves this out
  // Every step sends the whole conversation again: it finds its cache, which is shared with nobody else.
  cacheSalt: 'shared-random',
})
const openai = new OpenAI({ baseURL: pm.baseURL, apiKey, fetch: pm.fetch })

const text = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const tools = [
  { name: 'list_files', description: 'Lists the files of a folder', parameters: text },
  { name: 'read_file', description: 'Reads a file', parameters: text },
].map((one) => ({ type: 'function', function: one }))

const root = realpathSync(folder)

/** The model is not trusted with more than the folder: links and dots that lead out are refused. */
function locate(path) {
  const found = realpathSync(join(root, path))
  if (found !== root && !found.startsWith(root + sep)) throw new Error('outside the folder')
  return found
}

function useTool({ name, arguments: given }) {
  try {
    const { path } = JSON.parse(given)
    switch (name) {
      case 'list_files':
        return readdirSync(locate(path)).join('\n')
      case 'read_file':
        return readFileSync(locate(path), 'utf8').slice(0, 20_000)
      default:
        return `there is no tool ${name}`
    }
  } catch (error) {
    return `failed: ${error.message}`
  }
}

const models = await pm.models.list()
const model = models.find(({ tasks }) => tasks.includes('generate'))?.id ?? ''
const messages = [{ role: 'user', content: question }]
const maxSteps = 20
for (let step = 0; step < maxSteps; step++) {
  const { choices } = await openai.chat.completions.create({ model, messages, tools })
  const { message } = choices[0]
  messages.push(message)
  if (!message.tool_calls?.length) break
  for (const call of message.tool_calls) {
    console.log(`${call.function.name} ${call.function.arguments}`)
    messages.push({ role: 'tool', tool_call_id: call.id, content: useTool(call.function) })
  }
}
console.log(messages.at(-1).content)
