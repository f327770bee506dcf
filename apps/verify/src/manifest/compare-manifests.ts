/** What changed between two manifests, as sentences that are new and sentences that are gone. */
import type { Manifest } from '@privatemode/attestation'
import { explainManifest } from './explanation.ts'

export type Change = { readonly title: string; readonly gone: string[]; readonly added: string[] }

/** Sections without a change are left out; a section that only one has is all new or all gone. */
export function compareManifests(older: Manifest, newer: Manifest): Change[] {
  const [before, after] = [sections(older), sections(newer)]
  const titles = new Set([...before.keys(), ...after.keys()])
  return [...titles].flatMap((title) => {
    const had = before.get(title) ?? []
    const has = after.get(title) ?? []
    const gone = had.filter((line) => !has.includes(line))
    const added = has.filter((line) => !had.includes(line))
    return gone.length + added.length === 0 ? [] : [{ title, gone, added }]
  })
}

const sections = (manifest: Manifest): Map<string, readonly string[]> =>
  new Map(explainManifest(manifest).map(({ title, lines }) => [title, lines]))
