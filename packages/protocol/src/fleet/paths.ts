/**
 * The paths that a deployment's machines and clients use, all below `/privatemode/v1/`. One group
 * for each kind of caller: applications bundle only the first.
 */
export const fleetBase = '/privatemode/v1/'

/** What clients ask the gateway for. */
export const fleetPaths = {
  /** Sealed requests; the gateway sends them on to a worker under the same path. */
  sealed: `${fleetBase}sealed`,
  /** A worker's evidence for a nonce, relayed by the gateway. */
  workerAttestation: (workerId: string) =>
    `${fleetBase}workers/${encodeURIComponent(workerId)}/attestation`,
  directory: `${fleetBase}directory`,
  /** The manifest log, unless it is hosted elsewhere. */
  log: `${fleetBase}log`,
} as const

/** What a worker serves besides sealed requests. */
export const workerPaths = {
  /** Its evidence for a nonce. */
  attestation: `${fleetBase}attestation`,
  /** A register token, sealed to a verified worker and sent to it directly. */
  provision: `${fleetBase}provision`,
} as const

/** What workers send to the gateway. */
export const registryPaths = {
  /** Where a worker registers, renews and deregisters. */
  worker: (workerId: string) => `${fleetBase}registry/workers/${encodeURIComponent(workerId)}`,
  usage: `${fleetBase}registry/usage`,
} as const

/** The admin API of the portal and the command line. */
export const adminBase = `${fleetBase}admin`
