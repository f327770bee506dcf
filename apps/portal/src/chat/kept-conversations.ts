/** Which conversations are saved in the browser: a bounded number of them, of a bounded size. */

/** More would make every save slow; the oldest are dropped first. */
export const maxKept = 30
/** Pictures are a part of what is saved. */
const maxCharacters = 64 * 1024 * 1024

/** `all` starts with the newest. The current conversation comes before all others. */
export function keptConversations<C extends { readonly id: string }>(
  all: readonly C[],
  currentId: string,
  most = maxCharacters,
): readonly C[] {
  const current = all.filter(({ id }) => id === currentId)
  const others = all.filter(({ id }) => id !== currentId)
  const kept = new Set<string>()
  let characters = 0
  for (const conversation of [...current, ...others]) {
    const { length } = JSON.stringify(conversation)
    if (characters + length > most || kept.size >= maxKept) continue
    characters += length
    kept.add(conversation.id)
  }
  return all.filter(({ id }) => kept.has(id))
}
