/** Computes launch measurements from the files of a machine: SEV-SNP launch digests, TDX MRTD and RTMRs. For tools, not for clients. */
export { authenticodeSha384 } from './authenticode.ts'
export {
  type Basis,
  type BootEvent,
  listBootEvents,
  loadOptions,
  type OvmfGeneration,
  type TdxBoot,
  variableEvent,
} from './boot-events.ts'
export {
  foldEvents,
  type LoggedEvent,
  type MeasuredEvent,
  measuredEvents,
  parseEventLog,
} from './event-log.ts'
export { type Firmware, parseFirmware } from './firmware-table.ts'
export { parseGuid } from './guid.ts'
export { hashKernel, type KernelHashes } from './kernel-hashes.ts'
export {
  formatMachineRecord,
  type MachineLimit,
  type MachineRecord,
  parseMachineRecord,
  type SnpHost,
  type TdxHost,
} from './machine-record.ts'
export { MeasureError, type MeasureErrorCode } from './measure-error.ts'
export { type AddOrder, measureTd } from './mrtd.ts'
export { readSevMetadata, type SevMetadata, type SevSection, sectionKinds } from './sev-metadata.ts'
export { digestFirmware, digestLaunch, maxVcpus, type SnpLaunch } from './snp-launch.ts'
export { writeTdHob } from './td-hob.ts'
export { readTdvfMetadata, type TdvfSection } from './tdvf-metadata.ts'
export { emptyVariableStore } from './variable-store.ts'
export { type CpuModel, cpuSignatures, type Hypervisor, hypervisors } from './vmsa.ts'
