/** Evidence of a confidential machine and its GPUs, with the vendors' collateral stapled. */
import { type CpuEvidence, deviceNonce, type Evidence, reportData } from '@privatemode/attestation'
import { parseQuote, parseSnpReport } from '@privatemode/attestation/inspect'
import type { Bytes } from '@privatemode/protocol/envelope'
import { WorkerError } from '../worker-error.ts'
import { type AmdOptions, stapleAmd } from './collateral/amd-collateral.ts'
import { parseCertificateTable } from './collateral/certificate-table.ts'
import type { CollateralCache } from './collateral/collateral-cache.ts'
import { type IntelOptions, stapleIntel } from './collateral/intel-collateral.ts'
import { type NvidiaOptions, stapleNvidia } from './collateral/nvidia-collateral.ts'
import type { EvidenceSource } from './evidence-source.ts'
import type { GpuReports } from './gpu/gpu-reports.ts'
import { type CpuKind, cpuOfProvider } from './tsm/detect-cpu.ts'
import type { TsmReport, TsmReports } from './tsm/tsm-report.ts'

export type HardwareParts = {
  readonly cpu: CpuKind
  readonly reports: TsmReports
  readonly gpus: GpuReports
  readonly cache: CollateralCache
  readonly amd: AmdOptions
  readonly intel: IntelOptions
  readonly nvidia: NvidiaOptions
}

const names: Readonly<Record<CpuKind, string>> = { snp: 'SEV-SNP', tdx: 'TDX' }

export function hardwareSource(parts: HardwareParts): EvidenceSource {
  const { cpu, reports, gpus, cache, nvidia } = parts
  const withGpus = gpus.count === 0 ? '' : `, ${gpus.count} GPU(s) through NVIDIA's tool`
  return {
    description: `${names[cpu]} through configfs-tsm${withGpus}`,
    async produce(nonce, statement): Promise<Evidence> {
      // GPUs first: the processor's report binds what they signed.
      const devices = await gpus.read(await deviceNonce({ nonce, statement }))
      const deviceReports = devices.map(({ report }) => report)
      const bound = await reportData({ nonce, statement, deviceReports })
      const report = await reports.read(bound)
      const [stapled, staples] = await Promise.all([
        stapleCpu(parts, report, bound),
        Promise.all(devices.map((device) => stapleNvidia(device, nvidia))),
      ])
      return { cpu: stapled, devices: staples }
    },
    close: () => cache.close(),
  }
}

async function stapleCpu(
  { cpu, amd, intel }: HardwareParts,
  { provider, outblob, auxblob }: TsmReport,
  bound: Bytes,
): Promise<CpuEvidence> {
  if (cpuOfProvider(provider) !== cpu) {
    const seen = `the report is of "${provider}", at start this was a ${cpu} machine`
    throw new WorkerError('report_unavailable', seen)
  }
  switch (cpu) {
    case 'snp': {
      const report = parseSnpReport(outblob)
      requireBound(report.reportData, bound)
      const staples = await stapleAmd(report, parseCertificateTable(auxblob), amd)
      return { kind: 'snp', report: base64(outblob), ...staples }
    }
    case 'tdx': {
      const quote = parseQuote(outblob)
      requireBound(quote.report.reportData, bound)
      return { kind: 'tdx', quote: base64(outblob), collateral: await stapleIntel(quote, intel) }
    }
  }
}

/** The client would refuse it too, but here the cause can still be reported. */
function requireBound(seen: Uint8Array, bound: Uint8Array): void {
  if (Buffer.from(bound).equals(seen)) return
  throw new WorkerError('report_conflict', 'the report holds different data than requested')
}

const base64 = (bytes: Bytes): string => Buffer.from(bytes).toString('base64')
