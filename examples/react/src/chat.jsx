import { usePrivateChat } from './use-private-chat.js'

export function Chat({ pm }) {
  const { messages, note, send, stop } = usePrivateChat(pm)

  async function submit(event) {
    event.preventDefault()
    const form = event.currentTarget
    const text = new FormData(form).get('message')
    form.reset()
    await send(text)
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
      <form onSubmit={submit}>
        <label>
          Message <input name="message" autoComplete="off" required />
        </label>
        <button type="submit">Send</button>
        <button type="button" onClick={stop}>
          Stop
        </button>
      </form>
    </>
  )
}
