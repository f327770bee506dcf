/** Lets a client accept the software TEE, which protects nothing. Production never imports this. */
export { softwareVerifier } from '@privatemode/attestation/software'
