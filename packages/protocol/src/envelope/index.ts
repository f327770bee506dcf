/** The sealed protocol, as specified in docs/protocol.md. */
export { decodeText, encodeText, equalBytes, formatHex, joinBytes } from './byte-strings.ts'
export {
  type AeadKey,
  andThen,
  type Bytes,
  type CryptoProvider,
  type Eventually,
} from './crypto-provider.ts'
export { EnvelopeError, type EnvelopeErrorCode } from './envelope-error.ts'
export { frameOverhead, maxFramePlaintext } from './frames.ts'
export { type AnswerHead, AnswerOpener, type AnswerPart } from './open-answer.ts'
export {
  type FindSessionSecret,
  type OpenedRequest,
  openRequest,
} from './open-request.ts'
export { padmeLength, type TrafficShape } from './padding.ts'
export { maxRecipients, type RequestContext } from './prelude.ts'
export { type Receipt, type ReceiptRest, receiptMessage, type UsageRecord } from './receipt.ts'
export { recordOverhead } from './records.ts'
export { defaultReplayLimits, ReplayGuard, type ReplayLimits } from './replay-guard.ts'
export { AnswerSealer, dataRecord, endRecord, headRecord, wholeRecord } from './seal-answer.ts'
export {
  beginRequest,
  finishRequest,
  type RequestHead,
  type SealedRequest,
  type SealingRequest,
  sealRequest,
} from './seal-request.ts'
export {
  createSealKeyPair,
  deriveSealKeyPair,
  establishSession,
  type SealKeyPair,
  type Session,
  sealKeyId,
} from './session.ts'
export { webCiphers, webCryptoProvider } from './web-crypto-provider.ts'
