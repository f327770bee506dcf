/** What the gateway sees of a call, kept so that the page can show it. */
import type { Fetch } from '@privatemode/sdk'

export type SealedView = {
  /** Without the API key, which must not appear on a shared screen. */
  readonly headers: readonly (readonly [string, string])[]
  readonly bytes: number
  /** The first bytes of the body, hex. */
  readonly start: string
}

const shownBytes = 96

export type Watched = { readonly fetch: Fetch; readonly last: () => SealedView | undefined }

/** The platform's `fetch`, which remembers the last sealed body. */
export function watchSealed(): Watched {
  let last: SealedView | undefined
  return {
    last: () => last,
    fetch: (url, init) => {
      if (url.endsWith('/sealed') && init.body instanceof Uint8Array) last = describe(init)
      // We decide where a request goes, not the answer.
      return fetch(url, { ...init, redirect: 'manual', credentials: 'omit' })
    },
  }
}

function describe(init: RequestInit): SealedView {
  const body = init.body instanceof Uint8Array ? init.body : new Uint8Array()
  const headers = [...new Headers(init.headers)].filter(([name]) => name !== 'authorization')
  const start = [...body.subarray(0, shownBytes)]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
  return { headers, bytes: body.length, start }
}
