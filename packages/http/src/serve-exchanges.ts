/** Serves exchanges with one function, and counts those in progress. */
import type { HttpExchange } from './http-exchange.ts'
import type { MessageError } from './message-error.ts'

export type ExchangeServer = {
  begin(exchange: HttpExchange): void
  refuse(exchange: HttpExchange, error: MessageError): void
  /** Requests in progress. */
  running(): number
}

/**
 * `answer` is given how many requests are in progress, and `fail` only exchanges that can still be
 * answered: a client whose answer has begun must notice that it breaks off.
 */
export function serveExchanges(
  answer: (exchange: HttpExchange, running: number) => Promise<void>,
  fail: (exchange: HttpExchange, error: unknown) => void,
): ExchangeServer {
  let running = 0
  const refuse = (exchange: HttpExchange, error: unknown) => {
    if (exchange.begun) exchange.cut()
    if (!exchange.over) fail(exchange, error)
  }
  const serve = async (exchange: HttpExchange) => {
    running++
    try {
      await answer(exchange, running)
    } catch (error) {
      refuse(exchange, error)
    } finally {
      running--
    }
  }
  return { begin: (exchange) => void serve(exchange), refuse, running: () => running }
}
