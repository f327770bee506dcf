/** Detects at startup which kind of confidential machine this is, or explains what to do. */
import { WorkerError } from '../../worker-error.ts'
import { isErrno, type TsmReports } from './tsm-report.ts'

export type CpuKind = 'snp' | 'tdx'

const providers: Readonly<Record<string, CpuKind>> = { sev_guest: 'snp', tdx_guest: 'tdx' }

/** Undefined for providers unknown to this version. */
export const cpuOfProvider = (provider: string): CpuKind | undefined =>
  Object.hasOwn(providers, provider) ? providers[provider] : undefined

const otherwise = 'for development only, --attestation software with --softwareIdentity'

/** Refuses a machine that cannot attest or is not of the required kind, and names the remedy. */
export async function detectCpu(
  reports: TsmReports,
  wanted: CpuKind | undefined,
): Promise<CpuKind> {
  const provider = await readProvider(reports)
  const kind = cpuOfProvider(provider)
  if (kind === undefined) {
    const known = Object.keys(providers).join(' and ')
    return refuse(`reports are made by "${provider}", which this version does not know (${known})`)
  }
  if (wanted !== undefined && wanted !== kind) {
    return refuse(`this is a ${kind} machine (${provider}), but --attestation is ${wanted}`)
  }
  return kind
}

async function readProvider(reports: TsmReports): Promise<string> {
  const { path } = reports.tree
  try {
    return await reports.provider()
  } catch (cause) {
    if (isErrno(cause, 'ENOENT', 'ENOTDIR')) {
      return refuse(
        `there is no ${path}; run inside an SEV-SNP or TDX machine with Linux 6.7 or newer, mount ` +
          `configfs and load the module sev-guest or tdx-guest; or, ${otherwise}`,
        cause,
      )
    }
    if (isErrno(cause, 'ENXIO')) {
      return refuse(
        `${path} has no provider; load the module sev-guest or tdx-guest, and if that fails, this ` +
          `is not a confidential machine; ${otherwise}`,
        cause,
      )
    }
    if (isErrno(cause, 'EACCES', 'EPERM', 'EROFS')) {
      return refuse(
        `${path} is not writable; run as root or give the worker's user and container ` +
          'write access to it',
        cause,
      )
    }
    return refuse(`${path} does not work as expected`, cause)
  }
}

function refuse(message: string, cause?: unknown): never {
  throw new WorkerError('no_confidential_hardware', message, { cause })
}
