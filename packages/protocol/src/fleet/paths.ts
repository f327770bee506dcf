/** Where a deployment's machines and clients find each other: every path below `/privatemode/v1/`. */
export const fleetBase = '/privatemode/v1/'

export const fleetPaths = {
  /** Sealed requests: clients to the gateway, and the gateway to a worker. */
  sealed: `${fleetBase}sealed`,
  /** A worker's evidence for a nonce, at the worker itself. */
  attestation: `${fleetBase}attestation`,
  /** The same through the gateway. */
  workerAttestation: (workerId: string) =>
    `${fleetBase}workers/${encodeURIComponent(workerId)}/attestation`,
  directory: `${fleetBase}directory`,
  /** Where a worker registers, renews and leaves. */
  registeredWorker: (workerId: string) =>
    `${fleetBase}registry/workers/${encodeURIComponent(workerId)}`,
  usage: `${fleetBase}registry/usage`,
  admin: `${fleetBase}admin`,
  /** The log of manifests, unless it is hosted elsewhere. */
  log: `${fleetBase}log`,
} as const
