import { useRef, useState } from 'react'

/** A conversation whose answers arrive piece by piece: `send`, `stop`, and what was said so far. */
export function usePrivateChat(pm) {
  const [messages, setMessages] = useState([])
  const [note, setNote] = useState('Verified')
  const running = useRef()

  async function send(text) {
    const asked = [...messages, { role: 'user', content: text }]
    setMessages(asked)
    running.current = new AbortController()
    try {
      const [model] = (await pm.models.list()).filter(({ tasks }) => tasks.includes('generate'))
      const { signal } = running.current
      const stream = await pm.chat.stream({ model: model.id, messages: asked }, { signal })
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

  return { messages, note, send, stop: () => running.current?.abort() }
}
