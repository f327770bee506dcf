/** How to run one coding agent without a terminal against a proxy or the proxyless endpoint. */

export type AgentPlace = {
  /** Where the package was installed: the folder that contains `node_modules`. */
  readonly installed: string
  /** The address of the proxy or of the proxyless endpoint, without a path. */
  readonly url: string
  /** What the agent sends as its key. */
  readonly apiKey: string
  readonly model: string
  /** The folder the agent works in: a separate git repository. */
  readonly work: string
  /** The agent's home, deleted afterwards. */
  readonly home: string
  readonly task: string
}

export type AgentRun = {
  /** Run one after the other; each has to succeed. */
  readonly commands: readonly (readonly string[])[]
  readonly env: Readonly<Record<string, string>>
}

export type Agent = {
  readonly title: string
  readonly package: string
  readonly version: string
  /** Writes the agent's settings and returns how to start it. */
  readonly prepare: (place: AgentPlace) => AgentRun
}

/** The task that every agent gets, and the file that shows it was completed. */
export const task = 'Make the file proof.txt with one word in it.'
export const proof = { file: 'proof.txt', word: 'made' } as const
export const shellCommand = `echo ${proof.word} > ${proof.file}`
export const farewell = 'The file is there.'
