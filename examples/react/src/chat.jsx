import { useState } from 'react'

export function Chat({ pm }) {
  const [messages, setMessages] = useState([])
  const [note, setNote] = useState('Verified')

  async function send(event) {
    event.preventDefault()
    const form = event.currentTarget
    const asked = [...messages, { role: 'user', content: new FormData(form).get('message') }]
    form.reset()
    setMessages(asked)
    try {
      const [model] = (await pm.models.list()).filter(({ tasks }) => tasks.includes('generate'))
      const stream = await pm.chat.stream({ model: model.id, messages: asked })
      let content = ''
      for await (const chunk of stream) {
        content += chunk.choices[0]?.delta.content ?? ''
        setMessages([...asked, { role: 'assistant', content }])
      }
      const { workerId, completionTokens } = await stream.receipt()
      setNote(`Signed by ${workerId}: ${completionTokens} tokens`)
    } catch (error) {
      setNote(`${error.code ?? error.message}${error.retryable ? ', try again' : ''}`)
    }
  }

  return (
    <>
      <p role="status">{note}</p>
      <ol>
        {messages.map(({ role, content }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages are only ever added
          <li key={index}>
            <b>{role}</b> {content}
          </li>
        ))}
      </ol>
      <form onSubmit={send}>
        <label>
          Message <input name="message" autoComplete="off" required />
        </label>
        <button type="submit">Send</button>
      </form>
    </>
  )
}
