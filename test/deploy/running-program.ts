/** A program under test in its own process, observed through its output. */

export type RunningProgram = {
  output(): string
  /** Waits until the output matches and returns the match. */
  until(pattern: RegExp, limitMs?: number): Promise<RegExpExecArray>
  readonly exited: Promise<number>
  stop(): Promise<number>
}

export function startProgram(command: readonly string[], cwd?: string): RunningProgram {
  const child = Bun.spawn([...command], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    ...(cwd === undefined ? {} : { cwd }),
  })
  let output = ''
  const wake = new Set<() => void>()
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      output += decoder.decode(chunk, { stream: true })
      for (const call of wake) call()
    }
  }
  const ended = Promise.all([collect(child.stdout), collect(child.stderr)])
  const until = (pattern: RegExp, limitMs = 60_000) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(output)
        if (match !== null) done(() => resolve(match))
      }
      const done = (settle: () => void) => {
        wake.delete(look)
        clearTimeout(timer)
        settle()
      }
      const give = (why: string) => done(() => reject(new Error(`${why}: ${pattern}\n${output}`)))
      const timer = setTimeout(() => give(`not within ${limitMs} ms`), limitMs)
      wake.add(look)
      void ended.then(() => {
        look()
        give('the program ended')
      })
      look()
    })
  return {
    output: () => output,
    until,
    exited: child.exited,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000)
      const code = await child.exited
      clearTimeout(timer)
      await ended
      return code
    },
  }
}
