/**
 * Evidence of NVIDIA GPUs directly from the driver's library (NVML), without installing another
 * tool. Runs in a separate process: a report takes the device a moment, and the library blocks
 * meanwhile.
 */
import { CString, dlopen, type Pointer, ptr } from 'bun:ffi'
import { WorkerError } from '../../worker-error.ts'

/**
 * The calls needed for evidence; structures are laid out as in nvml.h. Each throws if the driver
 * refuses.
 */
export type Nvml = {
  readonly settings: () => ConfidentialSettings
  readonly count: () => number
  /** `nvmlDeviceArchitecture_t`. */
  readonly architecture: (index: number) => number
  readonly report: (index: number, structure: Uint8Array) => void
  readonly certificate: (index: number, structure: Uint8Array) => void
  readonly close: () => void
}

export type ConfidentialSettings = {
  /** 0 unavailable, 1 simulation, 2 production. */
  readonly environment: number
  /** 1: confidential computing is on. */
  readonly feature: number
  /** 1: debuggers and profilers can access the GPU. */
  readonly devTools: number
  /** 1: protected PCIe, for several GPUs with switches; 2: encrypted NVLink. */
  readonly multiGpu: number
}

/** One GPU, in the format of NVIDIA's own tool. */
export type GpuEvidence = {
  readonly arch: string
  readonly nonce: string
  /** Base64 of the SPDM request and response that the device signed. */
  readonly evidence: string
  /** Base64 of the PEM chain, leaf first. */
  readonly certificate: string
}

const production = 2
const architectures: Readonly<Record<number, string>> = { 9: 'HOPPER', 10: 'BLACKWELL' }

/** Refuses if any GPU is not in confidential mode: such a GPU exposes its memory to the host. */
export function collectGpuEvidence(nvml: Nvml, nonce: Uint8Array): GpuEvidence[] {
  requireConfidential(nvml.settings())
  const count = nvml.count()
  return Array.from({ length: count }, (_, index) => {
    const architecture = nvml.architecture(index)
    return {
      arch: architectures[architecture] ?? `architecture ${architecture}`,
      nonce: Buffer.from(nonce).toString('hex'),
      evidence: Buffer.from(readReport(nvml, index, nonce)).toString('base64'),
      certificate: Buffer.from(readCertificate(nvml, index)).toString('base64'),
    }
  })
}

function requireConfidential(settings: ConfidentialSettings): void {
  const { environment, feature, devTools, multiGpu } = settings
  if (feature !== 1 && multiGpu === 0) {
    refuse('confidential computing is off: turn it on for every GPU and restart the host')
  }
  if (environment !== production)
    refuse(`environment ${environment} is not the production environment`)
  if (devTools !== 0) refuse('development tools can reach the GPU: turn devtools mode off')
}

/** nvmlConfComputeGpuAttestationReport_t: three sizes, the nonce, the report, a report of the CEC. */
const reportLayout = {
  sizeAt: 4,
  nonceAt: 12,
  reportAt: 44,
  maxReport: 0x2000,
  length: 0x302c,
} as const

function readReport(nvml: Nvml, index: number, nonce: Uint8Array): Uint8Array {
  const { sizeAt, nonceAt, reportAt, maxReport, length } = reportLayout
  const structure = new Uint8Array(length)
  structure.set(nonce, nonceAt)
  nvml.report(index, structure)
  return cut(structure, sizeAt, reportAt, maxReport, `the report of GPU ${index}`)
}

/** nvmlConfComputeGpuCertificate_t: two sizes, the device's chain, the chain for attestation. */
const chainLayout = { sizeAt: 4, chainAt: 0x1008, maxChain: 0x1400, length: 0x2408 } as const

function readCertificate(nvml: Nvml, index: number): Uint8Array {
  const { sizeAt, chainAt, maxChain, length } = chainLayout
  const structure = new Uint8Array(length)
  nvml.certificate(index, structure)
  return cut(structure, sizeAt, chainAt, maxChain, `the certificate chain of GPU ${index}`)
}

function cut(structure: Uint8Array, sizeAt: number, at: number, max: number, what: string) {
  const size = new DataView(structure.buffer).getUint32(sizeAt, true)
  if (size === 0 || size > max) refuse(`${what} has ${size} bytes, expected 1 to ${max}`)
  return structure.subarray(at, at + size)
}

const functions = {
  nvmlInit_v2: { args: [], returns: 'i32' },
  nvmlShutdown: { args: [], returns: 'i32' },
  nvmlErrorString: { args: ['i32'], returns: 'ptr' },
  nvmlSystemGetConfComputeSettings: { args: ['ptr'], returns: 'i32' },
  nvmlDeviceGetCount_v2: { args: ['ptr'], returns: 'i32' },
  nvmlDeviceGetHandleByIndex_v2: { args: ['u32', 'ptr'], returns: 'i32' },
  nvmlDeviceGetArchitecture: { args: ['ptr', 'ptr'], returns: 'i32' },
  nvmlDeviceGetConfComputeGpuAttestationReport: { args: ['ptr', 'ptr'], returns: 'i32' },
  nvmlDeviceGetConfComputeGpuCertificate: { args: ['ptr', 'ptr'], returns: 'i32' },
} as const

/** nvmlSystemConfComputeSettings_v1_t: its size and version, then four numbers. */
const settingsBytes = 20
const settingsVersion = settingsBytes | (1 << 24)

export function openNvml(library = 'libnvidia-ml.so.1'): Nvml {
  const { symbols, close } = open(library)
  const must = (what: string, code: number) => {
    if (code === 0) return
    const text = symbols.nvmlErrorString(code)
    const reason = text === null ? '' : new CString(text).toString()
    refuse(`${what} failed with ${code} (${reason})`)
  }
  const numbers = (count: number) => new Uint32Array(count)
  const handle = (index: number): Pointer => {
    const out = new BigUint64Array(1)
    must('nvmlDeviceGetHandleByIndex', symbols.nvmlDeviceGetHandleByIndex_v2(index, ptr(out)))
    return Number(out[0]) as Pointer
  }
  must('nvmlInit', symbols.nvmlInit_v2())
  return {
    settings: () => {
      const out = numbers(settingsBytes / 4)
      out[0] = settingsVersion
      must('nvmlSystemGetConfComputeSettings', symbols.nvmlSystemGetConfComputeSettings(ptr(out)))
      const [, environment = 0, feature = 0, devTools = 0, multiGpu = 0] = out
      return { environment, feature, devTools, multiGpu }
    },
    count: () => {
      const out = numbers(1)
      must('nvmlDeviceGetCount', symbols.nvmlDeviceGetCount_v2(ptr(out)))
      return out[0] ?? 0
    },
    architecture: (index) => {
      const out = numbers(1)
      must('nvmlDeviceGetArchitecture', symbols.nvmlDeviceGetArchitecture(handle(index), ptr(out)))
      return out[0] ?? 0
    },
    report: (index, structure) =>
      must(
        'nvmlDeviceGetConfComputeGpuAttestationReport',
        symbols.nvmlDeviceGetConfComputeGpuAttestationReport(handle(index), ptr(structure)),
      ),
    certificate: (index, structure) =>
      must(
        'nvmlDeviceGetConfComputeGpuCertificate',
        symbols.nvmlDeviceGetConfComputeGpuCertificate(handle(index), ptr(structure)),
      ),
    close: () => {
      symbols.nvmlShutdown()
      close()
    },
  }
}

function open(library: string) {
  try {
    return dlopen(library, functions)
  } catch (cause) {
    const message = `cannot load ${library}: is NVIDIA's driver installed and visible in this container?`
    throw new WorkerError('gpu_evidence_unavailable', message, { cause })
  }
}

function refuse(reason: string): never {
  throw new WorkerError('gpu_evidence_unavailable', `NVML: ${reason}`)
}
