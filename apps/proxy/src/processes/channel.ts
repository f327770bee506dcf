/** Questions and answers between the supervisor and one serving process, over the pipe connecting them. */
import { type Failure, toError, toFailure } from './failure.ts'

/** The questions that may be asked, with the content of each question and its answer. */
export type Questions = Record<string, { readonly asked: unknown; readonly answered: unknown }>

/** The handlers of one side. */
export type Answers<Q extends Questions> = {
  readonly [Kind in keyof Q]: (asked: Q[Kind]['asked']) => Promise<Q[Kind]['answered']>
}

type Message =
  | { readonly type: 'ask'; readonly id: number; readonly kind: string; readonly asked: unknown }
  | { readonly type: 'answer'; readonly id: number; readonly answered: unknown }
  | { readonly type: 'failure'; readonly id: number; readonly failure: Failure }

type Waiting = {
  readonly resolve: (answered: unknown) => void
  readonly reject: (error: unknown) => void
  readonly timer: ReturnType<typeof setTimeout>
}

/** Both ends run the same program version, so messages need no validation. */
export class Channel<Asks extends Questions, Answered extends Questions> {
  readonly #send: (message: Message) => void
  readonly #answers: Answers<Answered>
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #closed = false

  constructor(send: (message: unknown) => void, answers: Answers<Answered>) {
    this.#send = send
    this.#answers = answers
  }

  /** Rejects after the timeout, if the other side is gone, or with the error that it reported. */
  ask<Kind extends keyof Asks & string>(
    kind: Kind,
    asked: Asks[Kind]['asked'],
    timeoutMs: number,
  ): Promise<Asks[Kind]['answered']> {
    if (this.#closed) return Promise.reject(gone())
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const timer = setTimeout(() => {
      this.#waiting.delete(id)
      reject(new Error(`no answer to ${kind} within ${timeoutMs} ms`))
    }, timeoutMs).unref()
    this.#waiting.set(id, { resolve, reject, timer })
    this.#send({ type: 'ask', id, kind, asked })
    return promise as Promise<Asks[Kind]['answered']>
  }

  receive(received: unknown): void {
    const message = received as Message
    switch (message.type) {
      case 'ask':
        void this.#answer(message.id, message.kind, message.asked)
        return
      case 'answer':
        this.#settle(message.id)?.resolve(message.answered)
        return
      case 'failure':
        this.#settle(message.id)?.reject(toError(message.failure))
        return
    }
  }

  /** The other side is gone: rejects all pending questions. */
  close(): void {
    this.#closed = true
    for (const id of [...this.#waiting.keys()]) this.#settle(id)?.reject(gone())
  }

  async #answer(id: number, kind: string, asked: unknown): Promise<void> {
    let message: Message
    try {
      const answer = this.#answers[kind]
      if (answer === undefined) throw new Error(`no handler for ${kind}`)
      message = { type: 'answer', id, answered: await answer(asked) }
    } catch (error) {
      message = { type: 'failure', id, failure: toFailure(error) }
    }
    if (!this.#closed) this.#send(message)
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    clearTimeout(waiting?.timer)
    return waiting
  }
}

const gone = () => new Error('the other process has exited')
