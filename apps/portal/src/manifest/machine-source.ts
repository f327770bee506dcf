/** The source that a manifest names for its measurements, for those who want to rebuild it. */

export type MachineSource = {
  readonly revision: string
  /** Undefined if whoever rebuilds must know it already. */
  readonly repository: string | undefined
  /** Builds that source and compares, given the manifest as `manifest.json`. */
  readonly command: string
}

/** Undefined if the manifest says nothing about how its measurements came about. */
export function machineSource(manifest: string): MachineSource | undefined {
  const { machine } = JSON.parse(manifest) as { machine?: { source?: Wire } }
  const { revision, repository } = machine?.source ?? {}
  if (typeof revision !== 'string' || !/^[0-9a-f]{40}$/.test(revision)) return undefined
  const named = typeof repository === 'string' ? repository : undefined
  const source = named === undefined ? ' --source REPOSITORY' : ''
  const command = `npm run -s verify -- rebuild manifest.json${source}`
  return { revision, repository: named, command }
}

type Wire = { readonly revision?: unknown; readonly repository?: unknown }
