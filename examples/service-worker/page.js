// A page that knows nothing of the SDK: it calls /v1 on its own origin, and its service worker seals.
const [state, answer, form] = ['#state', '#answer', 'form'].map((name) =>
  document.querySelector(name),
)

await navigator.serviceWorker.register('worker.js', { type: 'module' })
const controlled = new Promise((resolve) => {
  navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true })
})
if (navigator.serviceWorker.controller === null) await controlled

const models = await (await fetch('/v1/models')).json()
const model = models.data.find(({ tasks }) => tasks.includes('generate')).id
state.textContent = `Ready: ${model}`
form.querySelector('button').disabled = false

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const content = new FormData(form).get('message')
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }] })
  const response = await fetch('/v1/chat/completions', { method: 'POST', body })
  answer.textContent = ''
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    const events = (rest + value).split('\n\n')
    rest = events.pop()
    for (const text of events) {
      if (!text.startsWith('data: {')) continue
      const chunk = JSON.parse(text.slice('data: '.length))
      answer.append(chunk.choices[0]?.delta.content ?? '')
    }
  }
  state.textContent = response.ok ? 'Answered' : `Refused: status ${response.status}`
})
