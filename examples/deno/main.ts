// Asks a private model with the official Anthropic client, on Deno: deno run -A main.ts
import { PrivatemodeAnthropic } from '@privatemode/sdk/anthropic'
import { acceptSoftware } from '@privatemode/sdk/software'

// Endpoint, log key and API key come from PRIVATEMODE_HOME, or from PRIVATEMODE_ENDPOINT, _LOG_KEY and _API_KEY.
const client = new PrivatemodeAnthropic({ software: acceptSoftware }) // for trials; production leaves it out

const [model] = (await client.models.list()).data
const { data, response } = await client.messages
  .create({
    model: model?.id ?? '',
    max_tokens: 60,
    messages: [{ role: 'user', content: 'Name three rivers.' }],
  })
  .withResponse()
for (const block of data.content) if (block.type === 'text') console.log(block.text)

const receipt = await (await client.verified()).receiptOf(response)
console.log(`worker ${receipt.workerId} signed: ${receipt.completionTokens} tokens`)
