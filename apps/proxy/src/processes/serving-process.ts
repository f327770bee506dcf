/** The supervisor's handle to one serving process. */
import { ownCommand } from '../own-command.ts'
import { type Answers, Channel } from './channel.ts'
import { type Report, servingWord, type ToServing, type ToSupervisor } from './questions.ts'

const reportWithinMs = 1_000
const stopWithinMs = 5_000

export class ServingProcess {
  /** How it exited, in words. */
  readonly exited: Promise<string>
  readonly #child: Bun.Subprocess<'ignore', 'ignore', 'inherit'>
  readonly #channel: Channel<ToServing, ToSupervisor>

  constructor(answers: Answers<ToSupervisor>) {
    this.#child = Bun.spawn([...ownCommand(), servingWord], {
      stdio: ['ignore', 'ignore', 'inherit'],
      serialization: 'json',
      ipc: (message) => this.#channel.receive(message),
    })
    this.#channel = new Channel((message) => void this.#child.send(message), answers)
    this.exited = this.#child.exited.then(() => {
      this.#channel.close()
      return String(this.#child.signalCode ?? `exit code ${this.#child.exitCode}`)
    })
  }

  get pid(): number {
    return this.#child.pid
  }

  /** Undefined if it does not answer. */
  async report(): Promise<Report | undefined> {
    return this.#channel.ask('report', null, reportWithinMs).catch(() => undefined)
  }

  /** Lets it drain; resolves when it has exited. */
  async stop(): Promise<void> {
    this.#channel.ask('stop', null, stopWithinMs).catch(() => {}) // it may have exited already
    await this.exited
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
