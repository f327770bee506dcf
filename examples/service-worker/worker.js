// Seals what the pages of this origin ask under /v1: the pages need no SDK, and share one connection.
import { indexedDbStorage, Privatemode } from './privatemode/index.js'
import { acceptSoftware } from './privatemode/software.js'

/** Lasts as long as the browser keeps the worker; what failed is tried again with the next call. */
let connecting

function connected() {
  connecting ??= connect().catch((error) => {
    connecting = undefined
    throw error
  })
  return connecting
}

async function connect() {
  const { endpoint, logKey, softwareRoot, apiKey } = await (await fetch('client.json')).json()
  return Privatemode.connect({
    apiKey,
    endpoint,
    manifest: { logKey },
    software: acceptSoftware(softwareRoot), // your own machine protects nothing; production leaves this out
    storage: indexedDbStorage(), // service workers have no localStorage
  })
}

async function answer(request) {
  try {
    return await (await connected()).fetch(request)
  } catch (error) {
    return Response.json({ error: { code: error.code ?? error.name } }, { status: 502 })
  }
}

self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))
self.addEventListener('fetch', (event) => {
  const { origin, pathname } = new URL(event.request.url)
  if (origin === self.location.origin && pathname.startsWith('/v1/')) {
    event.respondWith(answer(event.request))
  }
})
