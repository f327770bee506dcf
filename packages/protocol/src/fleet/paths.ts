/** The paths that a deployment's machines and clients use, all below `/privatemode/v1/`. */
export const fleetBase = '/privatemode/v1/'

export const fleetPaths = {
  /** Sealed requests: clients to the gateway, and the gateway to a worker. */
  sealed: `${fleetBase}sealed`,
  /** A worker's evidence for a nonce, served by the worker itself. */
  attestation: `${fleetBase}attestation`,
  /** The same, relayed by the gateway. */
  workerAttestation: (workerId: string) =>
    `${fleetBase}workers/${encodeURIComponent(workerId)}/attestation`,
  /** A register token, sealed to a verified worker and sent to it directly. */
  provision: `${fleetBase}provision`,
  directory: `${fleetBase}directory`,
  /** Where a worker registers, renews and deregisters. */
  registeredWorker: (workerId: string) =>
    `${fleetBase}registry/workers/${encodeURIComponent(workerId)}`,
  usage: `${fleetBase}registry/usage`,
  admin: `${fleetBase}admin`,
  /** The manifest log, unless it is hosted elsewhere. */
  log: `${fleetBase}log`,
} as const
