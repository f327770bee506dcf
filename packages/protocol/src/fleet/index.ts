/** The contract between the machines of a deployment: what gateway and workers say to each other. */
export {
  admissionShape,
  type RelayedRequest,
  relayHeaders,
  relayKeyBytes,
  relayMaxAgeMs,
  relayMaxAheadMs,
  relayText,
} from './relayed-request.ts'
