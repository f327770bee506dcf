/**
 * Runs a coding agent through the proxy that listens on the port, or through one started for it that
 * ends with it: `privatemode-proxy AGENT [--model ID] [flags of the proxy] [-- arguments of the agent]`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childEnvironment } from '@privatemode/service/end-with-parent'
import { readSettings } from '../settings.ts'
import { type AgentName, agentNames, shortestAgentContext, startOf } from './agent-settings.ts'

export type AgentRun = {
  readonly agent: AgentName
  /** The command line after the agent's name. */
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Starts the proxy's program with these flags. */
  readonly proxyCommand: readonly string[]
  readonly say: (line: string) => void
  /** Receives the text of `--help` and `--version`. */
  readonly print: (text: string) => void
}

type Model = {
  readonly id: string
  readonly tasks?: readonly string[]
  readonly context_length?: number
}

/** Why an agent cannot be started; the message is all its user needs. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError'
  readonly code: 'agent_unknown' | 'model_unknown' | 'proxy_unusable'

  constructor(code: LaunchError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Does not repeat the argument, which may be a secret that lost its flag. */
export function unknownAgent(): LaunchError {
  const names = agentNames.join(', ')
  const text = `unexpected argument, not one of the agents ${names}; flags start with --, see --help`
  return new LaunchError('agent_unknown', text)
}

/** Generous: a port nothing listens on refuses immediately. */
const answersWithinMs = 10_000
const readyWithinMs = 120_000
const pollMs = 250
/** Flags that print something and end the program. */
const textFlags: ReadonlySet<string> = new Set(['-h', '--help', '--version'])

/** Returns the exit code of the agent. */
export async function runAgent(asked: AgentRun): Promise<number> {
  const { agent, args, env, proxyCommand, say } = asked
  const { model: wanted, flags, own } = splitArguments(args)
  if (flags.some((flag) => textFlags.has(flag))) {
    const read = readSettings({ args: flags, env })
    if (read.kind === 'text') asked.print(read.text)
    return 0
  }
  const port = portOf(flags, env)
  const url = `http://127.0.0.1:${port}`
  const running = await isProxy(url)
  if (!running) {
    readSettings({ args: flags, env }) // throws if the proxy would refuse them, with the remedy
    say(`No proxy at ${url}; starting one …`)
  }
  const proxy = running ? undefined : startProxy([...proxyCommand, ...flags], env)
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-agent-'))
  try {
    if (proxy !== undefined) await untilReady(url, proxy)
    const model = chooseModel(await listModels(url), wanted)
    say(`${agent} uses ${model.id} through ${url}`)
    const { context_length: contextLength } = model
    if (contextLength !== undefined && contextLength < shortestAgentContext)
      say(
        `warning: ${model.id} has a context of ${contextLength} tokens; coding agents need about ${shortestAgentContext} and will probably fail`,
      )
    const start = startOf(agent, { url, model: model.id, contextLength, folder, args: own })
    for (const [name, text] of Object.entries(start.files)) writeFileSync(join(folder, name), text)
    const path = Bun.which(start.command, { PATH: env.PATH ?? '' })
    if (path === null) {
      say(`error: ${start.command} is not installed; to install it: ${start.install}`)
      return 127
    }
    const environment = { ...env, ...start.env }
    if (start.before !== undefined) {
      const code = await run([path, ...start.before], environment)
      if (code !== 0) return code
    }
    return await run([path, ...start.args], environment)
  } finally {
    rmSync(folder, { recursive: true, force: true })
    proxy?.kill('SIGTERM')
    await proxy?.exited
  }
}

function splitArguments(args: readonly string[]) {
  const end = args.indexOf('--')
  const ours = end < 0 ? args : args.slice(0, end)
  const at = ours.findIndex((arg) => arg === '--model' || arg.startsWith('--model='))
  const joined = ours[at]?.startsWith('--model=') === true
  const model = at < 0 ? undefined : joined ? ours[at]?.slice('--model='.length) : ours[at + 1]
  return {
    model,
    flags: at < 0 ? ours : [...ours.slice(0, at), ...ours.slice(at + (joined ? 1 : 2))],
    own: end < 0 ? [] : args.slice(end + 1),
  }
}

/** The flags may be incomplete if a proxy is already running. */
function portOf(flags: readonly string[], env: NodeJS.ProcessEnv): number {
  const at = flags.findIndex((flag) => flag === '--port' || flag.startsWith('--port='))
  const given = flags[at]?.startsWith('--port=')
    ? flags[at]?.slice('--port='.length)
    : flags[at + 1]
  return Number(at < 0 ? (env.PRIVATEMODE_PROXY_PORT ?? 8080) : given)
}

async function isProxy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/privatemode/v1/verification`, {
      signal: AbortSignal.timeout(answersWithinMs),
    })
    return typeof ((await response.json()) as { ready?: unknown }).ready === 'boolean'
  } catch {
    return false
  }
}

function startProxy(command: readonly string[], env: NodeJS.ProcessEnv) {
  return Bun.spawn([...command], {
    env: childEnvironment(env),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
    // Ctrl-C is for the agent, which may go on after it.
    detached: true,
  })
}

async function untilReady(url: string, proxy: Bun.Subprocess): Promise<void> {
  const deadline = Date.now() + readyWithinMs
  for (;;) {
    const state = await fetch(`${url}/ready`)
      .then((response) => response.json() as Promise<{ ready: boolean; cause?: string }>)
      .catch(() => undefined)
    if (state?.ready) return
    const code = proxy.exitCode ?? proxy.signalCode
    // Its flags are not repeated, since one may be a secret.
    if (code !== null)
      throw unusable(
        `the proxy exited with code ${code} before it was ready; start it on its own to see why: privatemode-proxy [the same flags]`,
      )
    if (Date.now() > deadline)
      throw unusable(`the proxy is not ready: ${state?.cause ?? 'it does not answer'}`)
    await Bun.sleep(pollMs)
  }
}

async function listModels(url: string): Promise<readonly Model[]> {
  const response = await fetch(`${url}/v1/models`)
  const answer = (await response.json()) as { data?: Model[]; error?: { message?: string } }
  if (answer.data === undefined)
    throw unusable(answer.error?.message ?? `${url}/v1/models answered ${response.status}`)
  return answer.data.filter(({ tasks }) => tasks?.includes('generate') ?? true)
}

const unusable = (message: string) => new LaunchError('proxy_unusable', message)

/** The requested model, or the one with the longest context. */
function chooseModel(models: readonly Model[], wanted: string | undefined): Model {
  const names = models.map(({ id }) => id).join(', ')
  if (wanted !== undefined) {
    const found = models.find(({ id }) => id === wanted)
    if (found === undefined)
      throw new LaunchError('model_unknown', `there is no model ${wanted}; available: ${names}`)
    return found
  }
  const [first] = models.toSorted((a, b) => (b.context_length ?? 0) - (a.context_length ?? 0))
  if (first === undefined) throw unusable('the backend serves no text generation model')
  return first
}

async function run(command: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = Bun.spawn([...command], { env, stdio: ['inherit', 'inherit', 'inherit'] })
  // Ctrl-C reaches the agent by itself, which may handle it in its own way.
  const ignore = () => {}
  const pass = (signal: NodeJS.Signals) => child.kill(signal)
  const handlers = { SIGINT: ignore, SIGTERM: pass, SIGHUP: pass }
  for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler)
  try {
    return await child.exited
  } finally {
    for (const [signal, handler] of Object.entries(handlers)) process.off(signal, handler)
  }
}
