/** Every parser of the package with valid seeds, for the fuzzer. */
import { formatAttestation, parseAttestation } from '../attestation-response.ts'
import { formatEvidenceBundle, parseEvidenceBundle } from '../bundle/bundle.ts'
import { formatBase64, parseBase64, utf8 } from '../bytes.ts'
import type { NvidiaGpuEvidence } from '../evidence.ts'
import { openCheckpoint } from '../log/checkpoint.ts'
import { formatLogProof, parseLogProof } from '../log/log-proof.ts'
import { parseSignedNote, parseVerifierKey } from '../log/signed-note.ts'
import { parseBundle, parseTile } from '../log/tile.ts'
import { formatManifest, parseManifest } from '../manifest/manifest.ts'
import { canonicalize } from '../nvidia/c14n.ts'
import { readGpuFields } from '../nvidia/device-fields.ts'
import { readFirmwareIdentity } from '../nvidia/firmware-id.ts'
import { readRim } from '../nvidia/rim.ts'
import { parseSpdmReport } from '../nvidia/spdm-report.ts'
import { parseXml } from '../nvidia/xml-reader.ts'
import { verifySignedXml } from '../nvidia/xml-signature.ts'
import { parseReceipt } from '../receipt.ts'
import { parseEndorsement } from '../snp/endorsement.ts'
import { parseSnpReport } from '../snp/report.ts'
import { formatSoftwareIdentity, parseSoftwareIdentity } from '../software/identity.ts'
import { formatStatement, parseStatement } from '../statement.ts'
import { readPckPlatform } from '../tdx/pck-certificate.ts'
import { parseQuote } from '../tdx/quote.ts'
import { parseQeIdentity, parseTcbInfo } from '../tdx/tcb-info.ts'
import { Transcript } from '../verdict.ts'
import { parseCertificate, parsePem } from '../x509/certificate.ts'
import { parseCrl } from '../x509/crl.ts'
import { parseOcspResponse } from '../x509/ocsp-response.ts'
import type { FuzzTarget } from './fuzz.ts'
import { entries, MemoryLog, newSigner } from './memory-log.ts'
import { gpuEvidence, makeNvidiaWorld } from './nvidia-world.ts'
import { snpWorld } from './snp-world.ts'
import { softwareBundle } from './software-bundle.ts'
import { softwareWorld } from './software-world.ts'
import { testNow } from './test-authority.ts'
import { makeTestIntel } from './test-intel.ts'

export async function fuzzTargets(): Promise<FuzzTarget[]> {
  return [
    ...(await nvidiaTargets()),
    ...(await snpTargets()),
    ...(await tdxTargets()),
    ...(await logTargets()),
    ...(await documentTargets()),
  ]
}

const decodeAll = (list: readonly string[]): Uint8Array[] =>
  list.map((base64) => parseBase64(base64)!)

async function nvidiaTargets(): Promise<FuzzTarget[]> {
  const hopper = await makeNvidiaWorld()
  const blackwell = await makeNvidiaWorld('GB20X', 0x80)
  const evidence: NvidiaGpuEvidence = await gpuEvidence(hopper)
  const rims = decodeAll(evidence.rims)
  const leaves = [hopper.leaf.certificate, blackwell.leaf.certificate]
  const trust = { rootFingerprints: hopper.roots.nvidiaRim, at: testNow }
  return [
    {
      name: 'SPDM report',
      seeds: decodeAll([evidence.report]),
      parse: (bytes) => readGpuFields(parseSpdmReport(bytes).opaque),
    },
    {
      name: 'XML and canonical form',
      seeds: rims,
      parse: (bytes) => canonicalize(parseXml(bytes)),
    },
    {
      name: 'XML signature',
      seeds: rims,
      parse: (bytes) => verifySignedXml(bytes, trust, new Transcript(), 'fuzz'),
      share: 0.02,
    },
    {
      name: 'RIM',
      seeds: rims.map((rim) => {
        const text = new TextDecoder().decode(rim)
        return utf8(text.replace(/<ds:Signature.*<\/ds:Signature>/s, ''))
      }),
      parse: (bytes) => readRim(parseXml(bytes)),
    },
    {
      name: 'firmware identity',
      seeds: leaves,
      parse: (bytes) => readFirmwareIdentity(parseCertificate(bytes)),
    },
    {
      name: 'certificates in PEM',
      seeds: [utf8(evidence.certificate_chain)],
      parse: (bytes) => parsePem(new TextDecoder().decode(bytes)).map(parseCertificate),
    },
    { name: 'OCSP response', seeds: decodeAll(evidence.ocsp), parse: parseOcspResponse },
  ]
}

async function snpTargets(): Promise<FuzzTarget[]> {
  const world = await snpWorld()
  const evidence = await world.attest()
  const leaf = await world.issueLeaf()
  return [
    { name: 'SNP report', seeds: decodeAll([evidence.report]), parse: parseSnpReport },
    {
      name: 'SNP endorsement',
      seeds: [leaf],
      parse: (bytes) => parseEndorsement(parseCertificate(bytes)),
    },
    { name: 'certificate', seeds: decodeAll(evidence.certificates), parse: parseCertificate },
    { name: 'CRL', seeds: [world.crl], parse: parseCrl },
  ]
}

async function tdxTargets(): Promise<FuzzTarget[]> {
  const intel = await makeTestIntel()
  const { collateral } = await intel.attest()
  const quotes = [await intel.makeQuote(), await intel.makeQuote({ version: 5, bodyType: 3 })]
  const pck = parsePem(new TextDecoder().decode(parseQuote(quotes[0]!).certificateChain))[0]!
  return [
    { name: 'TDX quote', seeds: quotes, parse: parseQuote },
    {
      name: 'PCK certificate',
      seeds: [pck],
      parse: (bytes) => readPckPlatform(parseCertificate(bytes)),
    },
    { name: 'TCB info', seeds: [utf8(collateral.tcb_info)], parse: parseTcbInfo },
    { name: 'QE identity', seeds: [utf8(collateral.qe_identity)], parse: parseQeIdentity },
  ]
}

async function logTargets(): Promise<FuzzTarget[]> {
  const signer = await newSigner('log.example')
  const log = new MemoryLog()
  const checkpoint = await log.publish(signer, ...entries(5))
  const file = (prefix: string): Uint8Array =>
    [...log.files].find(([path]) => path.startsWith(prefix))![1]
  const proof = formatLogProof({ index: 1, hashes: [new Uint8Array(32)], checkpoint })
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
  return [
    {
      name: 'log checkpoint',
      seeds: [checkpoint],
      parse: (bytes) => openCheckpoint(bytes, signer.key, { witnesses: [], quorum: 0 }),
    },
    { name: 'signed note', seeds: [checkpoint], parse: parseSignedNote },
    {
      name: 'verifier key',
      seeds: [utf8(signer.verifierKey)],
      parse: (bytes) => parseVerifierKey(text(bytes)),
    },
    { name: 'log proof', seeds: [proof], parse: parseLogProof },
    { name: 'log tile', seeds: [file('tile/0')], parse: (bytes) => parseTile(bytes, 1) },
    { name: 'log entries', seeds: [file('tile/entries')], parse: (bytes) => parseBundle(bytes, 1) },
  ]
}

async function documentTargets(): Promise<FuzzTarget[]> {
  const world = await softwareWorld()
  const { bundle, sign } = await softwareBundle(world)
  const receipt = await sign()
  const written = Object.fromEntries(
    Object.entries(receipt).map(([name, bytes]) => [name, formatBase64(bytes)]),
  )
  const { statement, evidence } = bundle
  return [
    { name: 'manifest', seeds: [formatManifest(world.draft)], parse: parseManifest },
    { name: 'statement', seeds: [formatStatement(world.statement)], parse: parseStatement },
    {
      name: 'attestation',
      seeds: [formatAttestation({ statement, evidence })],
      parse: parseAttestation,
    },
    { name: 'bundle', seeds: [formatEvidenceBundle(bundle)], parse: parseEvidenceBundle },
    { name: 'receipt', seeds: [utf8(JSON.stringify(written))], parse: parseReceipt },
    {
      name: 'software identity',
      seeds: [await formatSoftwareIdentity(world.root)],
      parse: parseSoftwareIdentity,
      share: 0.1,
    },
  ]
}
