/** The flags for attestation, and how they combine. */
import { type SnpProduct, snpProducts } from '@privatemode/attestation/collateral'
import type { FlagTable, FlagValues } from '@privatemode/service'
import { WorkerError } from '../worker-error.ts'
import { baseUrl } from './collateral/fetch-document.ts'
import type { CpuKind } from './tsm/detect-cpu.ts'
import { defaultReportPath } from './tsm/report-tree.ts'

export type HardwareSettings = {
  readonly kind: 'hardware'
  /** The required kind of machine; undefined accepts whatever is detected. */
  readonly cpu: CpuKind | undefined
  readonly reportPath: string
  readonly gpus: number
  /** Argument vector; one of the arguments contains `{nonce}`. */
  readonly gpuCommand: readonly string[]
  readonly timeoutMs: number
  readonly amdKdsUrl: string
  readonly amdProduct: SnpProduct | undefined
  readonly intelPcsUrl: string
  readonly intelRootCrlUrl: string
  readonly nvidiaRimUrl: string
  readonly nvidiaOcspUrl: string
  readonly collateralFolder: string | undefined
}

export type AttestationSettings =
  | HardwareSettings
  | { readonly kind: 'software'; readonly identityPath: string }

const group = 'Attestation'
const collateral = 'Collateral'

export const attestationFlags = {
  attestation: {
    type: 'string',
    default: 'auto',
    choices: ['auto', 'snp', 'tdx', 'software'],
    help: 'what attests this worker; auto detects the confidential hardware',
    group,
  },
  softwareIdentity: {
    type: 'string',
    help: 'attest in software with this identity file; for development only, protects nothing',
    group,
  },
  tsmPath: {
    type: 'string',
    default: defaultReportPath,
    help: "the kernel's tree of attestation reports (configfs-tsm)",
    group,
  },
  gpus: {
    type: 'integer',
    default: 0,
    max: 16,
    help: 'number of NVIDIA GPUs in this machine; unless each of them attests, the worker does not',
    group,
  },
  gpuCommand: {
    type: 'string',
    help: "command that prints evidence for all GPUs as JSON, split at spaces and run without a shell, such as NVIDIA's `nvattest collect-evidence --device gpu --nonce {nonce} --format json`; by default the worker queries the driver's library",
    group,
  },
  attestationTimeoutMs: {
    type: 'integer',
    default: 10_000,
    min: 100,
    max: 120_000,
    help: 'time limit for an answer of the processor, the GPUs or a vendor',
    group,
  },
  amdKdsUrl: {
    type: 'string',
    default: 'https://kdsintf.amd.com',
    help: 'AMD Key Distribution Service, or a mirror',
    group: collateral,
  },
  amdProduct: {
    type: 'string',
    choices: snpProducts,
    help: 'product line of the processor, for old firmware whose reports do not name it',
    group: collateral,
  },
  intelPcsUrl: {
    type: 'string',
    default: 'https://api.trustedservices.intel.com',
    help: 'Intel Provisioning Certification Service, or a mirror such as a PCCS',
    group: collateral,
  },
  intelRootCrlUrl: {
    type: 'string',
    default: 'https://certificates.trustedservices.intel.com/IntelSGXRootCA.der',
    help: "URL of the revocation list of Intel's root",
    group: collateral,
  },
  nvidiaRimUrl: {
    type: 'string',
    default: 'https://rim.attestation.nvidia.com',
    help: 'NVIDIA RIM service, or a mirror',
    group: collateral,
  },
  nvidiaOcspUrl: {
    type: 'string',
    default: 'https://ocsp.ndis.nvidia.com',
    help: 'NVIDIA OCSP responder, or a mirror',
    group: collateral,
  },
  collateralFolder: {
    type: 'string',
    help: 'directory that keeps collateral across restarts',
    group: collateral,
  },
} as const satisfies FlagTable

type Values = FlagValues<typeof attestationFlags>

export function readAttestationSettings(values: Values): AttestationSettings {
  const { attestation, softwareIdentity } = values
  if (attestation === 'software' || (attestation === 'auto' && softwareIdentity !== undefined)) {
    if (softwareIdentity === undefined) {
      throw invalid('--attestation software needs an identity file: set --softwareIdentity')
    }
    if (values.gpus > 0) throw invalid('--gpus cannot be combined with software attestation')
    return { kind: 'software', identityPath: softwareIdentity }
  }
  if (softwareIdentity !== undefined) {
    throw invalid(`--softwareIdentity contradicts --attestation ${attestation}`)
  }
  return {
    kind: 'hardware',
    cpu: attestation === 'auto' ? undefined : attestation,
    reportPath: values.tsmPath,
    gpus: values.gpus,
    gpuCommand: readCommand(values.gpuCommand),
    timeoutMs: values.attestationTimeoutMs,
    amdKdsUrl: readUrl('amdKdsUrl', values.amdKdsUrl),
    amdProduct: values.amdProduct,
    intelPcsUrl: readUrl('intelPcsUrl', values.intelPcsUrl),
    intelRootCrlUrl: readUrl('intelRootCrlUrl', values.intelRootCrlUrl),
    nvidiaRimUrl: readUrl('nvidiaRimUrl', values.nvidiaRimUrl),
    nvidiaOcspUrl: readUrl('nvidiaOcspUrl', values.nvidiaOcspUrl),
    collateralFolder: values.collateralFolder,
  }
}

/** By default this program itself, in another process. */
function readCommand(text: string | undefined): string[] {
  if (text === undefined) return [process.execPath, Bun.main, 'gpu-evidence', '--nonce', '{nonce}']
  const words = text.split(/\s+/).filter((word) => word !== '')
  if (words.slice(1).some((word) => word.includes('{nonce}'))) return words
  throw invalid('--gpuCommand must pass on the nonce: put {nonce} where the program expects it')
}

/** The documents are signed, so an internal mirror may use plain HTTP. */
function readUrl(name: string, text: string): string {
  const url = URL.parse(text)
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return baseUrl(text)
  throw invalid(`--${name} is not an http or https address`)
}

const invalid = (message: string) => new WorkerError('settings_invalid', message)
