/** Serves the built portal, with headers that allow only its own code. */
import { ApiError } from '@privatemode/protocol/api'
import type { StaticFiles } from './static-files.ts'

const contentTypes: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
}

/** No inline scripts or styles, no other origins, no framing. */
export const portalHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** A path without a dot is a portal page, served by the single document. */
export function servePortal(
  files: StaticFiles | undefined,
  path: string,
  acceptEncoding: string | null,
): Response {
  const isPage = !path.slice(path.lastIndexOf('/')).includes('.')
  const name = isPage ? 'index.html' : path.slice(1)
  const file = files?.find(name)
  const type = contentTypes[name.slice(name.lastIndexOf('.') + 1)]
  if (file === undefined || type === undefined) {
    throw new ApiError('not_found', 'not found')
  }
  // The bundler puts a content hash into the names of immutable files.
  const hashed = /[.-][0-9a-z]{8,}\.\w+$/i.test(name)
  const zipped = acceptsGzip(acceptEncoding) ? files?.find(`${name}.gz`) : undefined
  return new Response(Bun.file(zipped ?? file), {
    headers: {
      ...portalHeaders,
      ...(zipped === undefined ? {} : { 'content-encoding': 'gzip' }),
      'content-type': type,
      vary: 'accept-encoding',
      'cache-control': hashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    },
  })
}

/** RFC 9110, 12.5.3, as browsers use it: a coding with weight zero is not acceptable. */
function acceptsGzip(acceptEncoding: string | null): boolean {
  return (acceptEncoding ?? '')
    .split(',')
    .some((coding) => /^\s*gzip\s*(?:;\s*q=(?:0?\.\d*[1-9]\d*|1(?:\.0*)?)\s*)?$/i.test(coding))
}
