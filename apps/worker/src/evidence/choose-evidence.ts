/** Selects what attests this worker at startup, and tries it once. */
import { readFileSync } from 'node:fs'
import { AttestationError, type Roots, vendorRoots } from '@privatemode/attestation'
import {
  parseSoftwareIdentity,
  type SoftwareIdentity,
} from '@privatemode/attestation/software/producer'
import type { Log, OutboundFetch } from '@privatemode/service'
import { WorkerError } from '../worker-error.ts'
import type { AttestationSettings, HardwareSettings } from './attestation-settings.ts'
import { checkOwnEvidence } from './check-own-evidence.ts'
import { CollateralCache } from './collateral/collateral-cache.ts'
import { CollateralFolder } from './collateral/collateral-folder.ts'
import type { EvidenceSource } from './evidence-source.ts'
import { GpuReports } from './gpu/gpu-reports.ts'
import { hardwareSource } from './hardware-source.ts'
import { measureSources } from './software-measurement.ts'
import { softwareSource } from './software-source.ts'
import { detectCpu } from './tsm/detect-cpu.ts'
import { configfsTree, type ReportTree } from './tsm/report-tree.ts'
import { TsmReports } from './tsm/tsm-report.ts'

export type EvidenceSurroundings = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly fetch: OutboundFetch
  readonly log: Log
  readonly now: () => Date
  /** Lets tests substitute their own kernel and vendors. */
  readonly machine?: { readonly tree: ReportTree; readonly roots: Roots } | undefined
}

/** Refuses to start if nothing can attest; missing collateral is only logged. */
export async function chooseEvidence(
  settings: AttestationSettings,
  surroundings: EvidenceSurroundings,
): Promise<EvidenceSource> {
  const { log, now, machine } = surroundings
  if (settings.kind === 'software') {
    const source = await readSoftwareSource(settings.identityPath)
    log.warn('evidence source chosen', { detail: source.description })
    return source
  }
  const source = await openHardware(settings, surroundings)
  log.info('evidence source chosen', { detail: source.description })
  try {
    await checkOwnEvidence(source, machine?.roots ?? vendorRoots, now, log)
  } catch (error) {
    source.close()
    throw error
  }
  return source
}

async function openHardware(
  settings: HardwareSettings,
  { env, fetch, log, now, machine }: EvidenceSurroundings,
): Promise<EvidenceSource> {
  const { timeoutMs, gpus: count, gpuCommand: command, collateralFolder } = settings
  const reports = new TsmReports(machine?.tree ?? configfsTree(settings.reportPath), { timeoutMs })
  const cpu = await detectCpu(reports, settings.cpu)
  const gpus = new GpuReports({ command, count, timeoutMs, env })
  const folder = collateralFolder === undefined ? undefined : new CollateralFolder(collateralFolder)
  const cache = new CollateralCache({ now, log, folder })
  const shared = { cache, log, vendor: { fetch, timeoutMs } }
  return hardwareSource({
    cpu,
    reports,
    gpus,
    cache,
    amd: { ...shared, kdsUrl: settings.amdKdsUrl, product: settings.amdProduct },
    intel: { ...shared, pcsUrl: settings.intelPcsUrl, rootCrlUrl: settings.intelRootCrlUrl },
    nvidia: { ...shared, rimUrl: settings.nvidiaRimUrl, ocspUrl: settings.nvidiaOcspUrl },
  })
}

async function readSoftwareSource(path: string): Promise<EvidenceSource> {
  return softwareSource(await readSoftwareIdentity(path), measureSources())
}

export async function readSoftwareIdentity(path: string): Promise<SoftwareIdentity> {
  try {
    return await parseSoftwareIdentity(readFileSync(path))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const why = cause instanceof AttestationError ? 'unusable' : `not readable (${code})`
    throw new WorkerError('identity_unreadable', `the identity file ${path} is ${why}`, { cause })
  }
}
