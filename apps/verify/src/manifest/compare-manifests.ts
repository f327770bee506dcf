/** The differences between two manifests, as added and removed sentences. */
import type { Manifest } from '@privatemode/attestation'
import { explainManifest } from './explanation.ts'

export type Change = { readonly title: string; readonly gone: string[]; readonly added: string[] }

/** Unchanged sections are left out; a section that only one has is entirely new or removed. */
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
