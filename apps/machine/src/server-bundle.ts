/** How the model server runs: not as root, without a network; it talks to the worker over one Unix socket. */
import { bind, formatContainer, temporary } from './container.ts'
import type { MachineServer } from './machine-config.ts'

/** Owns nothing in the image: all its files belong to root. */
export const serverUser = { uid: 1000, gid: 1000 } as const

/** At the same path for the server, which listens there, and the worker. */
export const socketFolder = '/run/server'
export const serverSocket = `${socketFolder}/server.sock`

/** Folders that the server's volume must have. */
export const serverMounts = ['/proc', '/dev', '/sys', '/tmp', '/weights', socketFolder] as const

export type ServerBundleInputs = {
  readonly server: MachineServer
  readonly root: string
  readonly weights: string
  readonly socket: string
}

export function formatServerBundle({ server, root, weights, socket }: ServerBundleInputs): object {
  return formatContainer({
    name: 'server',
    root,
    // Only the worker can reach the socket's folder, so everyone there may connect.
    user: { ...serverUser, umask: 0 },
    args: server.command,
    env: withDefaults(server.environment),
    cwd: server.directory,
    network: 'none',
    mounts: [
      // Servers compile kernels for their model and load them from here.
      temporary('/tmp', ['mode=1777']),
      temporary('/dev/shm', ['noexec', 'mode=1777']),
      bind(weights, '/weights', ['rro']),
      bind(socket, socketFolder, ['rw']),
    ],
  })
}

/** Programs look these up, and the image knows no user with this number. */
const defaults = { HOME: '/tmp', USER: 'server', LOGNAME: 'server' }

function withDefaults(environment: readonly string[]): string[] {
  const missing = Object.entries(defaults).filter(
    ([name]) => !environment.some((one) => one.startsWith(`${name}=`)),
  )
  return [...environment, ...missing.map(([name, value]) => `${name}=${value}`)]
}
