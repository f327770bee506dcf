/** The wire form of evidence, as a worker provides it; byte strings are standard base64. */

export type SnpEvidence = {
  readonly kind: 'snp'
  /** The 1184-byte report. */
  readonly report: string
  /** DER: leaf (VCEK or VLEK), intermediate (ASK or ASVK), root (ARK), in any order. */
  readonly certificates: readonly string[]
  /** DER CRLs signed by the ARK. */
  readonly crls: readonly string[]
}

export type TdxCollateral = {
  /** PEM chain of the key that signed the TCB info. */
  readonly tcb_info_issuer_chain: string
  /** The exact text of the `tcbInfo` member, and its signature in hex. */
  readonly tcb_info: string
  readonly tcb_info_signature: string
  readonly qe_identity_issuer_chain: string
  readonly qe_identity: string
  readonly qe_identity_signature: string
  readonly pck_crl_issuer_chain: string
  /** DER. */
  readonly pck_crl: string
  /** DER. */
  readonly root_ca_crl: string
}

export type TdxEvidence = {
  readonly kind: 'tdx'
  readonly quote: string
  readonly collateral: TdxCollateral
}

export type NvidiaGpuEvidence = {
  readonly kind: 'nvidia-gpu'
  /** SPDM request (37 bytes) followed by the response. */
  readonly report: string
  /** PEM chain of the device, leaf first. */
  readonly certificate_chain: string
  /** RIM documents (XML text as bytes): one for the driver, one for the VBIOS. */
  readonly rims: readonly string[]
  /** DER OCSP responses for the device chain and the RIM signers. */
  readonly ocsp: readonly string[]
}

export type SoftwareEvidence = {
  readonly kind: 'software'
  /** Exact bytes of the JSON report that the attestation key signed. */
  readonly report: string
  /** ECDSA P-384 with SHA-384, r and s big-endian. */
  readonly signature: string
  /** DER, leaf first, root last. */
  readonly certificates: readonly string[]
}

export type CpuEvidence = SnpEvidence | TdxEvidence | SoftwareEvidence
export type DeviceEvidence = NvidiaGpuEvidence

export type Evidence = {
  readonly cpu: CpuEvidence
  readonly devices: readonly DeviceEvidence[]
}

/** How revocation status is evaluated; these are the two `--vendorOCSP*` flags. */
export type RevocationPolicy = {
  /** Tolerate an unknown status: no response, a stale one, or one that says "unknown". */
  readonly allowUnknown: boolean
  /** Tolerate "revoked" for this long after the time of revocation; 0 refuses immediately. */
  readonly revokedGraceHours: number
  /** Treat an older "good" as unknown; set by a manifest, never by a flag. */
  readonly maxAgeHours?: number
}

/** SHA-256 fingerprints (hex) of the trusted DER root certificates, by vendor. */
export type Roots = {
  readonly amd: readonly string[]
  readonly intel: readonly string[]
  readonly nvidiaDevice: readonly string[]
  readonly nvidiaRim: readonly string[]
  /** Empty in production: software attestation uses different roots, never different code. */
  readonly software: readonly string[]
}

/** What every authenticity check receives besides the evidence itself. */
export type AuthenticityContext = {
  readonly roots: Roots
  readonly revocation: RevocationPolicy
  readonly at: Date
}
