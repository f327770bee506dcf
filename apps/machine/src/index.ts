/** What the machine's builder shares with its init: the description of a launch. */
export {
  formatCommandLine,
  type Launch,
  parseCommandLine,
  type Variant,
  variants,
} from './command-line.ts'
export {
  formatMachineConfig,
  type MachineConfig,
  type MachineServer,
  parseMachineConfig,
  type Volume,
} from './machine-config.ts'
export { serverMounts, serverSocket } from './server-bundle.ts'
export { veritySalt, volumePurpose } from './verity-salt.ts'
export { volumeLabels } from './volumes.ts'
