/** Compares what GPUs and switches in protected PCIe mode sign about each other. */
import type { Transcript } from '../verdict.ts'
import type { NvidiaReportClaims } from './claims.ts'

/**
 * In this mode, the GPUs of one guest communicate through switches, protected only by the links'
 * own keys: a switch that is not attested, or one of another chassis, could eavesdrop. Each GPU
 * signs the identities (PDIs) of the switches at its links; each switch signs its own and those of
 * its GPUs. As in NVIDIA's verifier, all GPUs must name the same set of switches, exactly these
 * must be attested, and all switches must name the same set of GPUs, as many as there are. GPUs do
 * not sign their own PDI.
 */
export function requireTopology(
  devices: readonly NvidiaReportClaims[],
  transcript: Transcript,
): void {
  const id = 'nvidia/topology'
  const gpus = devices.filter(({ device }) => device === 'gpu')
  const switches = devices.filter(({ device }) => device === 'switch')
  const isProtected = ({ mode }: NvidiaReportClaims) => mode === 'protected-pcie'
  if (!gpus.some(isProtected)) {
    transcript.skip(id, 'no GPU is in protected PCIe mode: there is no fabric to compare')
    return
  }
  transcript.require(
    gpus.every(isProtected),
    `${id}/mode`,
    'topology_mismatch',
    `${gpus.filter(isProtected).length} of ${gpus.length} GPUs are in protected PCIe mode`,
  )
  const named = oneSet(gpus.map(({ switchPdis }) => switchPdis))
  transcript.require(
    named !== undefined && named.length > 0,
    `${id}/links`,
    'topology_mismatch',
    `the GPUs must all name the same switches; they name ${named?.join(', ') || 'different or none'}`,
  )
  const attested = switches.map(({ pdi }) => pdi ?? 'unnamed')
  const missing = (named ?? []).filter((pdi) => !attested.includes(pdi))
  transcript.require(
    missing.length === 0,
    `${id}/switches`,
    'device_missing',
    `the GPUs name switches ${(named ?? []).join(', ')}; not attested: ${missing.join(', ') || 'none'}`,
  )
  const foreign = attested.filter((pdi) => !(named ?? []).includes(pdi))
  transcript.require(
    foreign.length === 0 && new Set(attested).size === attested.length,
    `${id}/chassis`,
    'topology_mismatch',
    `${attested.length} switches attested; of another chassis: ${foreign.join(', ') || 'none'}`,
  )
  const seen = oneSet(switches.map(({ gpuPdis }) => gpuPdis))
  transcript.require(
    seen?.length === gpus.length,
    `${id}/gpus`,
    'topology_mismatch',
    `the switches must all name the same ${gpus.length} GPUs; they name ${seen?.length ?? 'different ones'}`,
  )
}

/** The set that all lists have in common, sorted; undefined if they differ or one is absent. */
function oneSet(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const sets = lists.map((list) => list && [...new Set(list)].sort())
  const [first] = sets
  return sets.every((set) => set && set.join() === first?.join()) ? first : undefined
}
