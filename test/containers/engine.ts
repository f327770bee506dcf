/** A container engine in namespaces of its own, used by its own command. */

import { type Parts, untilReady } from '../confined/parts.ts'
import { runCommand } from '../confined/run-command.ts'

export type EngineName = 'podman' | 'docker'

export class Engine {
  readonly name: EngineName
  readonly env: Readonly<Record<string, string>>

  private constructor(name: EngineName, env: Record<string, string>) {
    this.name = name
    this.env = env
  }

  static async start(name: EngineName, parts: Parts): Promise<Engine> {
    if (name === 'podman') return new Engine(name, podmanEnv(parts))
    const engine = new Engine(name, { DOCKER_HOST: 'unix:///run/docker.sock' })
    parts.start('dockerd', [
      ...['dockerd', '--host', 'unix:///run/docker.sock', '--exec-root', '/run/docker'],
      ...['--data-root', parts.folder('docker'), '--pidfile', '/run/docker.pid'],
    ])
    await untilReady('docker', async () => {
      return (await runCommand(['docker', 'info'], engine.env)).code === 0
    }).catch((error) => {
      throw new Error(`${error.message}\n${parts.logOf('dockerd')}`)
    })
    return engine
  }

  async run(...args: string[]): Promise<string> {
    const { code, out, errors } = await this.try(...args)
    if (code !== 0)
      throw new Error(`${this.name} ${args.join(' ')}: ${errors.trim() || out.trim()}`)
    return out.trim()
  }

  try(...args: string[]) {
    return runCommand([this.name, ...args], this.env)
  }

  /** A script as a document has it. */
  async shell(script: string, cwd: string): Promise<string> {
    const command = ['bash', '-c', `set -euo pipefail\n${script}`]
    const { code, out, errors } = await runCommand(command, this.env, { limitMs: 300_000, cwd })
    if (code !== 0) throw new Error(`ended with ${code}: ${`${out}${errors}`.trim().slice(-1500)}`)
    return out.trim()
  }
}

/** Without the limits that a machine may not raise, and with the runtime that both engines have. */
function podmanEnv(parts: Parts): Record<string, string> {
  const path = parts.write(
    'config/containers.conf',
    `[containers]
default_ulimits = []
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
`,
  )
  // Nothing is pulled: every image is loaded from a file.
  parts.write(
    'home/.config/containers/policy.json',
    '{"default":[{"type":"insecureAcceptAnything"}]}',
  )
  return { CONTAINERS_CONF: path }
}
