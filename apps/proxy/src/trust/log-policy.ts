/**
 * Parses whom the proxy trusts for the manifest log: a key alone, or a policy that also names
 * witnesses.
 */
import type { LogTrust } from '@privatemode/sdk'
import { ServiceError } from '@privatemode/service'

type Group = { readonly members: readonly string[]; readonly quorum: number }

const longestPolicy = 64 * 1024
/** c2sp.org/signed-note: name, key id, base64 of type and key. The content is checked on use. */
const verifierKey = /^[^\s+]{1,200}\+[0-9a-f]{8}\+([A-Za-z0-9+/]{44})$/u

/** A single word is the log's key; anything longer is a policy as defined by c2sp.org/tlog-policy. */
export function parseLogPolicy(text: string): LogTrust {
  const trimmed = text.trim()
  if (trimmed.length > longestPolicy) refuse(`the policy has more than ${longestPolicy} bytes`)
  if (!/\s/.test(trimmed)) return { logKey: trimmed, witnesses: [], quorum: 0 }
  const policy = new PolicyLines()
  for (const [index, line] of trimmed.split('\n').entries()) {
    const [kind, ...words] = line.trim().split(/[ \t]+/)
    if (kind === undefined || kind === '' || kind.startsWith('#')) continue
    policy.take(kind, words, index + 1)
  }
  return policy.finish()
}

/** Names are defined before use, so that one pass suffices and no group can contain itself. */
class PolicyLines {
  #logKey: string | undefined
  #quorum: Group | undefined
  readonly #groups = new Map<string, Group>()
  readonly #keys = new Map<string, string>()
  readonly #counted = new Set<string>()
  readonly #materials = new Set<string>()

  take(kind: string, words: readonly string[], line: number): void {
    const [name = '', second = '', ...rest] = words
    switch (kind) {
      case 'log':
        if (this.#logKey !== undefined) refuse(`line ${line} names a second log, expected one`)
        this.#logKey = this.#newKey(name, line)
        return
      case 'witness': {
        const key = this.#newKey(second, line)
        this.#define(name, { members: [key], quorum: 1 }, line)
        this.#keys.set(name, key)
        return
      }
      case 'group':
        this.#define(name, this.#group(second, rest, line), line)
        return
      case 'quorum':
        if (this.#quorum !== undefined) refuse(`line ${line} is a second quorum, expected one`)
        this.#quorum = name === 'none' ? { members: [], quorum: 0 } : this.#find(name, line)
        return
    }
    refuse(
      `line ${line} begins with ${JSON.stringify(kind)}, expected log, witness, group or quorum`,
    )
  }

  finish(): LogTrust {
    if (this.#logKey === undefined) return refuse('there is no log line')
    if (this.#quorum === undefined) return refuse('there is no quorum line')
    return { logKey: this.#logKey, witnesses: this.#quorum.members, quorum: this.#quorum.quorum }
  }

  #group(threshold: string, names: readonly string[], line: number): Group {
    const members = names.map((name) => {
      const key = this.#keys.get(name)
      if (key === undefined) {
        refuse(`line ${line} has the member ${JSON.stringify(name)}, expected a witness above it`)
      }
      if (this.#counted.has(name))
        refuse(`line ${line} counts ${JSON.stringify(name)} a second time`)
      this.#counted.add(name)
      return key
    })
    const quorum = { all: members.length, any: 1 }[threshold] ?? Number(threshold)
    if (Number.isInteger(quorum) && quorum >= 1 && quorum <= members.length) {
      return { members, quorum }
    }
    return refuse(`line ${line} asks for ${JSON.stringify(threshold)} of ${members.length} members`)
  }

  #define(name: string, group: Group, line: number): void {
    if (name === '' || name === 'none' || this.#groups.has(name)) {
      refuse(`line ${line} gives the name ${JSON.stringify(name)}, which is taken or none`)
    }
    this.#groups.set(name, group)
  }

  #find(name: string, line: number): Group {
    const group = this.#groups.get(name)
    return group ?? refuse(`line ${line} asks for ${JSON.stringify(name)}, which no line above has`)
  }

  #newKey(text: string, line: number): string {
    const material = verifierKey.exec(text)?.[1]
    if (material === undefined) {
      return refuse(`line ${line} has no key of the form name+id+base64 where one is expected`)
    }
    if (this.#materials.has(material)) refuse(`line ${line} has a key that a line above has`)
    this.#materials.add(material)
    return text
  }
}

function refuse(reason: string): never {
  throw new ServiceError(
    'flag_invalid',
    `--manifestLogKey is neither a key nor a policy that can be used: ${reason}; docs/proxy.md has an example`,
  )
}
