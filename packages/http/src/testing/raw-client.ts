/** A client that sends exactly the given bytes, for input that no proper client sends. */
export type RawClient = {
  send(text: string | Uint8Array): void
  /** Reads until the text so far passes the test, or the connection ends. */
  until(enough: (text: string) => boolean): Promise<string>
  /** Everything until the connection ends. */
  rest(): Promise<string>
  pause(): void
  resume(): void
  close(): void
}

export async function rawClient(port: number): Promise<RawClient> {
  let text = ''
  let ended = false
  let wake: () => void = () => undefined
  let waiting: Buffer[] = []
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data(_socket, bytes) {
        text += bytes.toString('latin1')
        wake()
      },
      drain(self) {
        const parts = waiting
        waiting = []
        for (const part of parts) write(self, part)
      },
      close() {
        ended = true
        wake()
      },
      error: () => undefined,
    },
  })
  function write(self: { write(bytes: Buffer): number }, bytes: Buffer): void {
    const taken = waiting.length > 0 ? 0 : Math.max(0, self.write(bytes))
    if (taken < bytes.length) waiting.push(bytes.subarray(taken))
  }
  const until = async (enough: (text: string) => boolean) => {
    while (!ended && !enough(text)) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    const seen = text
    text = ''
    return seen
  }
  return {
    send: (bytes) => write(socket, Buffer.from(bytes as string, 'latin1')),
    until,
    rest: () => until(() => false),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: () => socket.end(),
  }
}
