/** A running cluster as its operator uses it: kubectl, helm, images, and waiting for what they promise. */

import { type Parts, untilReady } from '../confined/parts.ts'
import { type CommandResult, type RunOptions, runCommand } from '../confined/run-command.ts'
import { kubeconfigOf } from './api-server.ts'
import { registryEnv } from './registry.ts'

export class Cluster {
  readonly #parts: Parts
  readonly #helm: string
  readonly namespace: string

  constructor(parts: Parts, helm: string, namespace: string) {
    this.#parts = parts
    this.#helm = helm
    this.namespace = namespace
  }

  get env(): Record<string, string> {
    return { KUBECONFIG: kubeconfigOf(this.#parts, 'admin'), ...registryEnv(this.#parts) }
  }

  logOf(part: string): string {
    return this.#parts.logOf(part)
  }

  async kubectl(args: readonly string[], options: RunOptions = {}): Promise<string> {
    return this.#must(['kubectl', '-n', this.namespace, ...args], options)
  }

  async helm(args: readonly string[], options: RunOptions = {}): Promise<string> {
    return this.#must([this.#helm, '-n', this.namespace, ...args], options)
  }

  /** For what is meant to be refused. */
  async tryHelm(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    return runCommand([this.#helm, '-n', this.namespace, ...args], this.env, options)
  }

  async tryKubectl(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    return runCommand(['kubectl', '-n', this.namespace, ...args], this.env, options)
  }

  /** Objects that say themselves which namespace they are in. */
  async apply(...objects: object[]): Promise<void> {
    await this.#must(['kubectl', 'apply', '-f', '-'], { input: listOf(objects) })
  }

  async get<T = Json>(...args: string[]): Promise<T> {
    return JSON.parse(await this.kubectl(['get', ...args, '-o', 'json'])) as T
  }

  async pods(selector: string): Promise<Pod[]> {
    return (await this.get<{ items: Pod[] }>('pods', '-l', selector)).items
  }

  async untilRolledOut(deployment: string, limitMs = 180_000): Promise<void> {
    const limit = `--timeout=${limitMs / 1000}s`
    await this.kubectl(['rollout', 'status', `deployment/${deployment}`, limit], { limitMs })
  }

  async restart(deployment: string): Promise<void> {
    await this.kubectl(['rollout', 'restart', `deployment/${deployment}`])
    await this.untilRolledOut(deployment)
  }

  async addressOf(service: string): Promise<string> {
    return this.kubectl(['get', 'service', service, '-o', 'jsonpath={.spec.clusterIP}'])
  }

  async until(what: string, isSo: () => Promise<boolean>, limitMs = 120_000): Promise<void> {
    await untilReady(what, isSo, limitMs)
  }

  /** What an operator would look at first. */
  async describe(): Promise<string> {
    const show = async (...args: string[]) => (await this.tryKubectl(args)).out
    const pods = await show('get', 'pods', '-A', '-o', 'wide')
    const events = await show('get', 'events', '--sort-by=.lastTimestamp')
    return `${pods}\n${events.split('\n').slice(-25).join('\n')}`
  }

  async #must(command: readonly string[], options: RunOptions): Promise<string> {
    const { code, out, errors } = await runCommand(command, this.env, options)
    if (code === 0) return out
    const words = command.slice(1).join(' ').slice(0, 200)
    throw new Error(`${words}: ${(errors || out).trim().slice(0, 1500)}`)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: objects of the API, read in tests only.
export type Json = any

export type Pod = {
  readonly metadata: {
    readonly name: string
    readonly deletionTimestamp?: string
    readonly uid: string
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly spec: Json
  readonly status: { readonly podIP: string; readonly phase: string } & Json
}

export function listOf(objects: readonly object[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
}
