/** Why the stack does not start: one sentence, with the remedy. */

export type StackErrorCode =
  | 'settings_invalid'
  | 'port_busy'
  | 'home_unusable'
  | 'already_running'
  | 'model_unusable'
  | 'part_failed'

export class StackError extends Error {
  override readonly name = 'StackError'
  readonly code: StackErrorCode

  constructor(code: StackErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
