/**
 * Runs a program in namespaces and control groups of its own and leaves nothing behind: when it ends, when it is stopped
 * with Ctrl-C, and when its parent is killed. Processes, mounts and networks end with the namespaces.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

const prefix = 'privatemode-cluster-'

export type Confined = { readonly exited: Promise<number>; end(): Promise<void> }

export function startConfined(command: readonly string[], env: Record<string, string>): Confined {
  sweepGroups()
  const groups = makeGroups(`${prefix}${process.pid}`)
  // It joins its groups first: they are the root of what it sees of control groups from then on.
  const joining =
    'for group in $GROUPS_TO_JOIN; do echo $$ > "$group/cgroup.procs"; done; exec "$@"'
  const child = Bun.spawn(
    [
      ...['sh', '-c', joining, 'sh', 'setpriv', '--pdeathsig', 'KILL'],
      ...['unshare', '--mount', '--net', '--pid', '--uts', '--ipc', '--cgroup'],
      ...['--fork', '--kill-child', '--mount-proc', '--', ...command],
    ],
    {
      env: { ...process.env, ...env, GROUPS_TO_JOIN: groups.join(' ') },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  return {
    exited: child.exited,
    async end() {
      child.kill('SIGKILL')
      await child.exited
      await removeGroups(groups)
    },
  }
}

/** One folder per hierarchy, below the group that this process is in. */
function makeGroups(name: string): string[] {
  return hierarchies().map(({ mount, path, controllers }) => {
    const parent = join(mount, path)
    const group = join(parent, name)
    mkdirSync(group)
    // In version 1 a group of processors has none until it is told.
    if (controllers.includes('cpuset') && existsSync(join(group, 'cpuset.mems'))) {
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        writeFileSync(join(group, file), readFileSync(join(parent, file), 'utf8'))
    }
    // Otherwise all of it together would weigh as much as one process beside it.
    const weight = join(group, 'cpu.shares')
    if (existsSync(weight)) writeFileSync(weight, `${1024 * availableParallelism()}`)
    return group
  })
}

export type Hierarchy = {
  readonly mount: string
  readonly path: string
  /** Empty for version 2. */
  readonly controllers: string
}

/** Every mounted hierarchy and where in it this process is. */
export function hierarchies(): Hierarchy[] {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').trim().split('\n')
  const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n')
  return lines.flatMap((line) => {
    const [, controllers = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    const found = mounts.find((mount) => {
      const [type = '', , options = ''] = (mount.split(' - ')[1] ?? '').split(' ')
      if (controllers === '') return type === 'cgroup2'
      const has = options.split(',')
      return type === 'cgroup' && controllers.split(',').every((name) => has.includes(name))
    })
    const mount = found?.split(' ')[4]
    return mount === undefined ? [] : [{ mount, path, controllers }]
  })
}

/** Groups of a run that was killed before it could clean up. */
function sweepGroups(): void {
  for (const { mount, path } of hierarchies()) {
    for (const name of readdirSync(join(mount, path))) {
      const pid = name.startsWith(prefix) ? name.slice(prefix.length) : undefined
      if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeTree(join(mount, path, name))
    }
  }
}

/** Processes that were just killed stay in their groups for a moment. */
async function removeGroups(groups: readonly string[]): Promise<void> {
  const endMs = performance.now() + 30_000
  while (!groups.map(removeTree).every(Boolean)) {
    if (performance.now() > endMs) throw new Error(`control groups are still in use: ${groups}`)
    await Bun.sleep(100)
  }
}

function removeTree(group: string): boolean {
  if (!existsSync(group)) return true
  try {
    for (const entry of readdirSync(group, { withFileTypes: true })) {
      if (entry.isDirectory() && !removeTree(join(group, entry.name))) return false
    }
    rmdirSync(group)
    return true
  } catch {
    return false
  }
}
