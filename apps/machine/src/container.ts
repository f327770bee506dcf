/** A confined program: isolated, without capabilities, on a read-only root (OCI runtime specification). */

export type ContainerMount = {
  readonly destination: string
  readonly type: string
  readonly source: string
  readonly options: readonly string[]
}

export type Container = {
  readonly name: string
  readonly root: string
  readonly user: { readonly uid: number; readonly gid: number; readonly umask?: number }
  readonly args: readonly string[]
  readonly env: readonly string[]
  readonly cwd: string
  readonly mounts: readonly ContainerMount[]
  /** `none`: an own network namespace with nothing but its loopback. */
  readonly network: 'machine' | 'none'
}

/** System calls that no program needs here and that have led to kernel exploits before. */
const refusedCalls = [
  ...[
    'io_uring_setup',
    'io_uring_enter',
    'io_uring_register',
    'bpf',
    'ptrace',
    'keyctl',
    'add_key',
  ],
  ...[
    'request_key',
    'mount',
    'umount2',
    'move_mount',
    'open_tree',
    'fsopen',
    'fsmount',
    'fsconfig',
  ],
  ...['pivot_root', 'chroot', 'unshare', 'setns', 'kexec_load', 'kexec_file_load', 'init_module'],
  ...['finit_module', 'delete_module', 'perf_event_open', 'userfaultfd', 'process_vm_readv'],
  ...['process_vm_writev', 'swapon', 'swapoff', 'reboot', 'settimeofday', 'clock_settime', 'acct'],
  ...['open_by_handle_at', 'name_to_handle_at', 'iopl', 'ioperm', 'quotactl', 'personality'],
]

export const quiet = ['nosuid', 'noexec', 'nodev'] as const

export const bind = (
  source: string,
  destination: string,
  options: readonly string[],
): ContainerMount => ({
  ...{ destination, type: 'none', source },
  options: ['rbind', ...quiet, ...options],
})

export const temporary = (destination: string, options: readonly string[]): ContainerMount => ({
  ...{ destination, type: 'tmpfs', source: 'tmpfs' },
  options: ['nosuid', 'nodev', ...options],
})

const systemMounts: readonly ContainerMount[] = [
  { destination: '/proc', type: 'proc', source: 'proc', options: [...quiet, 'hidepid=2'] },
  // Device nodes are created on it, so it is not `nodev`.
  {
    ...{ destination: '/dev', type: 'tmpfs', source: 'tmpfs' },
    options: ['nosuid', 'noexec', 'mode=755', 'size=64k'],
  },
  { destination: '/sys', type: 'sysfs', source: 'sysfs', options: [...quiet, 'ro'] },
]

export function formatContainer(container: Container): object {
  const { name, root, user, args, env, cwd, mounts, network } = container
  const namespaces = [
    'pid',
    'mount',
    'ipc',
    'uts',
    'cgroup',
    ...(network === 'none' ? ['network'] : []),
  ]
  return {
    ociVersion: '1.0.2',
    hostname: name,
    root: { path: root, readonly: true },
    process: {
      terminal: false,
      user,
      cwd,
      args,
      env,
      capabilities: { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] },
      noNewPrivileges: true,
      rlimits: [
        { type: 'RLIMIT_CORE', hard: 0, soft: 0 },
        { type: 'RLIMIT_NOFILE', hard: 65_536, soft: 65_536 },
        { type: 'RLIMIT_NPROC', hard: 4096, soft: 4096 },
      ],
    },
    mounts: [...systemMounts, ...mounts],
    linux: {
      namespaces: namespaces.map((type) => ({ type })),
      maskedPaths: [
        '/proc/kcore',
        '/proc/keys',
        '/proc/timer_list',
        '/proc/acpi',
        '/proc/scsi',
        '/sys/firmware',
      ],
      readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
      seccomp: {
        defaultAction: 'SCMP_ACT_ALLOW',
        architectures: ['SCMP_ARCH_X86_64'],
        syscalls: [{ names: refusedCalls, action: 'SCMP_ACT_ERRNO', errnoRet: 1 }],
      },
    },
  }
}
