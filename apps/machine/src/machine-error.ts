/** Why the machine does not start. There is no recovery: PID 1 exits, and the kernel stops the machine. */

export type MachineErrorCode =
  | 'command_line_invalid'
  | 'config_invalid'
  | 'volume_missing'
  | 'syscall_failed'
  | 'hardening_failed'
  | 'program_ended'

export class MachineError extends Error {
  override readonly name = 'MachineError'
  readonly code: MachineErrorCode

  constructor(code: MachineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
