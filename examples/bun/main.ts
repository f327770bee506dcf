// Asks a private model with the official OpenAI client, on Bun: bun main.ts
import { PrivatemodeOpenAI } from '@privatemode/sdk/openai'
import { acceptSoftware } from '@privatemode/sdk/software'

// Endpoint, log key and API key come from PRIVATEMODE_HOME, or from PRIVATEMODE_ENDPOINT, _LOG_KEY and _API_KEY.
const client = new PrivatemodeOpenAI({ software: acceptSoftware }) // for trials; production leaves it out

const [model] = (await client.models.list()).data
const stream = await client.chat.completions.create({
  model: model?.id ?? '',
  messages: [{ role: 'user', content: 'Name three rivers.' }],
  max_completion_tokens: 60,
  stream: true,
})
for await (const chunk of stream) await Bun.write(Bun.stdout, chunk.choices[0]?.delta.content ?? '')
console.log()
