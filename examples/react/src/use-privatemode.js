import { Privatemode, webStorage } from '@privatemode/sdk'
import { useEffect, useState } from 'react'

const { VITE_ENDPOINT, VITE_API_KEY, VITE_LOG_KEY } = import.meta.env

/** One connection for the whole page: it is verified once, however often React renders. */
let connecting

async function connect() {
  const options = {
    apiKey: VITE_API_KEY,
    endpoint: VITE_ENDPOINT,
    manifest: { logKey: VITE_LOG_KEY },
    storage: webStorage(localStorage),
  }
  // Replaced as written at build time: without a root, the build has no software verifier in it.
  if (!import.meta.env.VITE_SOFTWARE_ROOT) return Privatemode.connect(options)
  const { acceptSoftware } = await import('@privatemode/sdk/software')
  const software = acceptSoftware(import.meta.env.VITE_SOFTWARE_ROOT)
  return Privatemode.connect({ ...options, software })
}

export function usePrivatemode() {
  const [state, setState] = useState({})
  useEffect(() => {
    connecting ??= connect()
    connecting.then(
      (pm) => setState({ pm }),
      (error) => setState({ failure: error.code ?? error.message }),
    )
  }, [])
  return state
}
