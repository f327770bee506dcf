/** Attacks of a network or a gateway on sealed answers, each as a `fetch`. */

const isSealed = (url: string) => url.endsWith('/privatemode/v1/sealed')

/** Changes one bit of every sealed answer. */
export async function flipLastByte(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  if (!isSealed(url)) return response
  const bytes = new Uint8Array(await response.arrayBuffer())
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
  return new Response(bytes, { status: response.status, headers: response.headers })
}

/** Takes the last byte off every sealed answer, as if the rest were all. */
export async function cutLastByte(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  if (!isSealed(url)) return response
  const bytes = new Uint8Array(await response.arrayBuffer()).slice(0, -1)
  return new Response(bytes, { status: response.status, headers: response.headers })
}

/** Answers a sealed request itself, in clear text and with a success. */
export async function inTheOpen(url: string, init: RequestInit): Promise<Response> {
  if (!isSealed(url)) return fetch(url, init)
  const content = 'I am the model, trust me'
  return Response.json({ choices: [{ index: 0, message: { role: 'assistant', content } }] })
}
