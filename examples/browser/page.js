// No build step: the files of the package's folder `browser` are what is imported.
import { Privatemode, webStorage } from './privatemode/index.js'
import { acceptSoftware } from './privatemode/software.js'

const [state, answer, form] = ['#state', '#answer', 'form'].map((name) =>
  document.querySelector(name),
)
const { endpoint, logKey, softwareRoot, apiKey } = await (await fetch('client.json')).json()

try {
  const pm = await Privatemode.connect({
    apiKey,
    endpoint,
    manifest: { logKey },
    software: acceptSoftware(softwareRoot),
    storage: webStorage(localStorage),
  })
  const [worker] = pm.verification.transcript().workers
  state.textContent = `Verified ${worker.worker_id}: ${worker.checks.length} checks`
  const models = await pm.models.list()
  const model = models.find(({ tasks }) => tasks.includes('generate')).id
  form.querySelector('button').disabled = false
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const content = new FormData(form).get('message')
    answer.textContent = ''
    const stream = await pm.chat.stream({ model, messages: [{ role: 'user', content }] })
    for await (const chunk of stream) answer.append(chunk.choices[0]?.delta.content ?? '')
    const receipt = await stream.receipt()
    state.textContent = `Signed by ${receipt.workerId}: ${receipt.completionTokens} tokens`
  })
} catch (error) {
  state.textContent = `Refused: ${error.code ?? error.message}`
}
