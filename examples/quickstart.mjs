// Asks a private model a question and shows what its machine signed. Start the stack first: npm start
import { readFileSync } from 'node:fs'
import { Privatemode } from '@privatemode/sdk'
import { acceptSoftware } from '@privatemode/sdk/software'

// The stack writes what a client needs: its address, the key of its manifest log, its software root.
const home = process.env.PRIVATEMODE_HOME ?? '.privatemode'
const { endpoint, logKey, softwareRoot } = JSON.parse(readFileSync(`${home}/client.json`, 'utf8'))
const apiKey = readFileSync(`${home}/api-key`, 'utf8').trim()

// Nothing is sent before a worker has proven what it runs.
const pm = await Privatemode.connect({
  apiKey,
  endpoint,
  manifest: { logKey },
  software: acceptSoftware(softwareRoot), // your own machine protects nothing; production leaves this out
})

const models = await pm.models.list()
const model = models.find(({ tasks }) => tasks.includes('generate'))?.id ?? ''
const stream = await pm.chat.stream({
  model,
  messages: [{ role: 'user', content: 'Write one sentence about the sea.' }],
  max_completion_tokens: 60,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')

const receipt = await stream.receipt()
console.log(`\n\nworker ${receipt.workerId} signed: ${receipt.completionTokens} tokens of ${model}`)
