/** How the worker runs, and what init tells it. */
import { bind, formatContainer, temporary } from './container.ts'
import type { HostFacts, MachineConfig } from './machine-config.ts'
import { serverSocket, socketFolder } from './server-bundle.ts'

/** Paths at which the worker finds what init prepared for it. */
export const workerPaths = {
  settings: '/run/privatemode',
  weights: '/weights',
  // Not the kernel's path: the container has a sysfs of its own, in which no runtime can create a mount point.
  reports: '/run/reports',
} as const

export type BundleInputs = {
  readonly root: string
  readonly settings: string
  readonly weights: string
  /** The folder of the model server's socket, if there is a server. */
  readonly socket: string | undefined
  /** The kernel's tree of attestation reports; absent with software attestation. */
  readonly reports: string | undefined
  readonly args: readonly string[]
}

export function formatBundle(inputs: BundleInputs): object {
  const { root, settings, weights, socket, reports, args } = inputs
  return formatContainer({
    name: 'worker',
    root,
    // Report entries and their attributes belong to root, whoever creates them, so no other user could write
    // a nonce. Without capabilities, root is an ordinary user.
    user: { uid: 0, gid: 0 },
    cwd: '/tmp',
    args,
    env: [
      'PATH=/usr/bin',
      'HOME=/tmp',
      'BUN_RUNTIME_TRANSPILER_CACHE_PATH=0',
      'PRIVATEMODE_WORKER_LOG_FORMAT=json',
    ],
    network: 'machine',
    mounts: [
      temporary('/tmp', ['noexec', 'mode=1777', 'size=256m']),
      bind(settings, workerPaths.settings, ['ro']),
      bind(`${settings}/hosts`, '/etc/hosts', ['ro']),
      bind(weights, workerPaths.weights, ['rro']),
      ...(socket === undefined ? [] : [bind(socket, socketFolder, ['ro'])]),
      ...(reports === undefined ? [] : [bind(reports, workerPaths.reports, ['rw'])]),
    ],
  })
}

/** The worker's model list: each model is identified by the root hash of its volume. */
export function formatModels({ models }: MachineConfig): object[] {
  return models.map(({ id, task, file, volume, displayName, contextLength }) => ({
    id,
    task,
    path: [workerPaths.weights, volume.label, ...(file === undefined ? [] : [file])].join('/'),
    verity_root: volume.root,
    ...(displayName !== undefined && { display_name: displayName }),
    ...(contextLength !== undefined && { context_length: contextLength }),
  }))
}

/** Large models take a while to load; init stops the machine if the server exits meanwhile. */
const serverArgs = ['--engineUrl', `unix:${serverSocket}`, '--engineWaitSeconds', '7200'] as const

export function formatWorkerArgs(config: MachineConfig, facts: HostFacts): string[] {
  const file = (name: string) => `${workerPaths.settings}/${name}`
  const isPlain = config.gateway.url.startsWith('http:')
  return [
    ...['/usr/bin/bun', '--no-install', '--no-env-file', '/app/apps/worker/src/main.ts'],
    ...['--host', '0.0.0.0', '--port', String(config.port)],
    ...['--publicUrl', facts.publicUrl, '--gatewayUrl', config.gateway.url],
    ...(config.gateway.ca === undefined ? [] : ['--gatewayCaPath', file('gateway-ca.pem')]),
    ...(isPlain ? ['--allowPlainGateway'] : []),
    ...['--awaitRegisterToken', '--modelsFile', file('models.json')],
    ...(config.server === undefined ? [] : serverArgs),
    ...(config.softwareIdentity === undefined
      ? ['--tsmPath', workerPaths.reports]
      : ['--attestation', 'software', '--softwareIdentity', file('identity.json')]),
  ]
}
