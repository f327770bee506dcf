/** Tells the other tabs of this browser that the visitor signed out: they hold conversations too. */

let channel: BroadcastChannel | undefined

// One object for both directions: it does not receive what it sends.
const open = (): BroadcastChannel => {
  channel ??= new BroadcastChannel('privatemode-sign-out')
  return channel
}

export function signalSignOut(): void {
  open().postMessage('signed out')
}

/** Returns a function that stops listening. */
export function followSignOut(onSignOut: () => void): () => void {
  open().onmessage = onSignOut
  return () => {
    open().onmessage = null
  }
}
