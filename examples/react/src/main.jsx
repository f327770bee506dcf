import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Chat } from './chat.jsx'
import { usePrivatemode } from './use-privatemode.js'

function App() {
  const { pm, failure } = usePrivatemode()
  if (failure !== undefined) return <p role="alert">Refused: {failure}</p>
  return pm === undefined ? <p role="status">Verifying …</p> : <Chat pm={pm} />
}

createRoot(document.querySelector('#root')).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
