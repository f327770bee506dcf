/** Headers that announce deprecations to clients (RFC 9745). */
import { latestModelName } from '@privatemode/protocol/api'

/** Since when the interface has called both deprecated: 1 January 2026. */
const since = '@1767225600'

export const completionsDeprecation: Readonly<Record<string, string>> = {
  deprecation: since,
  link: '</v1/chat/completions>; rel="successor-version"',
}

export function latestDeprecation(modelId: string): Record<string, string> {
  const safeId = modelId.replace(/[^\x21-\x7e]|["\\]/g, '_')
  return {
    deprecation: since,
    warning: `299 - "the model name ${latestModelName} is deprecated; use ${safeId}"`,
  }
}
