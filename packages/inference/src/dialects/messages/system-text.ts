/** The system prompt as one text, without parts that would spoil the prefix cache. */
import { requireList, requireObject, requireText, wrongValue } from '../json-value.ts'

/** Claude Code starts with such a block; it differs in every request and means nothing to a model. */
const billingHeader = 'x-anthropic-billing-header'

export function systemText(system: unknown, at: string): string {
  if (system === undefined || system === null) return ''
  if (typeof system === 'string') return withoutBilling(system)
  return requireList(system, at)
    .map((value, i) => {
      const block = requireObject(value, `${at}.${i}`)
      if (block.type !== 'text') throw wrongValue(`${at}.${i}.type`, "'text'", block.type)
      return withoutBilling(requireText(block.text, `${at}.${i}.text`))
    })
    .filter((text) => text !== '')
    .join('\n\n')
}

/** Removes only its own line: in a plain string the prompt may follow. */
function withoutBilling(text: string): string {
  if (!text.startsWith(billingHeader)) return text
  const lineEnd = text.indexOf('\n')
  return lineEnd < 0 ? '' : text.slice(lineEnd + 1).trimStart()
}
