/** Intel's names for the state of a TCB, and how the states of several parts combine. */

/** From the PCS API, version 4; ordered from best to worst. */
export const tcbStatuses = [
  'UpToDate',
  'SWHardeningNeeded',
  'ConfigurationNeeded',
  'ConfigurationAndSWHardeningNeeded',
  'OutOfDate',
  'OutOfDateConfigurationNeeded',
  'Revoked',
] as const

export type TcbStatus = (typeof tcbStatuses)[number]

type Faults = {
  readonly hardening: boolean
  readonly configuration: boolean
  readonly outOfDate: boolean
  readonly revoked: boolean
}

/**
 * The status that combines the faults of all parts. It is never better than the worst of them; it
 * is worse if two parts have different faults, since "OutOfDate" alone would hide the other.
 */
export function worstStatus(statuses: readonly TcbStatus[]): TcbStatus {
  const faults = statuses.map(faultsOf)
  const any = (fault: keyof Faults): boolean => faults.some((part) => part[fault])
  if (any('revoked')) return 'Revoked'
  if (any('outOfDate')) return any('configuration') ? 'OutOfDateConfigurationNeeded' : 'OutOfDate'
  if (any('configuration')) {
    return any('hardening') ? 'ConfigurationAndSWHardeningNeeded' : 'ConfigurationNeeded'
  }
  return any('hardening') ? 'SWHardeningNeeded' : 'UpToDate'
}

function faultsOf(status: TcbStatus): Faults {
  const none = { hardening: false, configuration: false, outOfDate: false, revoked: false }
  switch (status) {
    case 'UpToDate':
      return none
    case 'SWHardeningNeeded':
      return { ...none, hardening: true }
    case 'ConfigurationNeeded':
      return { ...none, configuration: true }
    case 'ConfigurationAndSWHardeningNeeded':
      return { ...none, hardening: true, configuration: true }
    case 'OutOfDate':
      return { ...none, outOfDate: true }
    case 'OutOfDateConfigurationNeeded':
      return { ...none, outOfDate: true, configuration: true }
    case 'Revoked':
      return { ...none, revoked: true }
  }
}
