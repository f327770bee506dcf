/** How the worker runs: isolated, without capabilities, on a read-only root (OCI runtime specification). */
import type { HostFacts, MachineConfig } from './machine-config.ts'

/** Paths at which the worker finds what init prepared for it. */
export const workerPaths = {
  settings: '/run/privatemode',
  weights: '/weights',
  reports: '/sys/kernel/config/tsm/report',
} as const

export type BundleInputs = {
  readonly root: string
  readonly settings: string
  readonly weights: string
  /** The kernel's tree of attestation reports; absent with software attestation. */
  readonly reports: string | undefined
  readonly args: readonly string[]
}

/** System calls that the worker does not need and that have led to kernel exploits before. */
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

const quiet = ['nosuid', 'noexec', 'nodev']

export function formatBundle({ root, settings, weights, reports, args }: BundleInputs): object {
  const bind = (source: string, destination: string, options: readonly string[]) => ({
    destination,
    type: 'none',
    source,
    options: ['rbind', ...quiet, ...options],
  })
  return {
    ociVersion: '1.0.2',
    hostname: 'worker',
    root: { path: root, readonly: true },
    process: {
      terminal: false,
      // The kernel creates new reports for root; without capabilities, root is an ordinary user.
      user: { uid: 0, gid: 0 },
      cwd: '/tmp',
      args,
      env: [
        'PATH=/usr/bin',
        'HOME=/tmp',
        'BUN_RUNTIME_TRANSPILER_CACHE_PATH=0',
        'PRIVATEMODE_WORKER_LOG_FORMAT=json',
      ],
      capabilities: { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] },
      noNewPrivileges: true,
      rlimits: [
        { type: 'RLIMIT_CORE', hard: 0, soft: 0 },
        { type: 'RLIMIT_NOFILE', hard: 65_536, soft: 65_536 },
        { type: 'RLIMIT_NPROC', hard: 4096, soft: 4096 },
      ],
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc', options: [...quiet, 'hidepid=2'] },
      {
        destination: '/dev',
        type: 'tmpfs',
        source: 'tmpfs',
        options: ['nosuid', 'noexec', 'mode=755', 'size=64k'],
      },
      {
        destination: '/tmp',
        type: 'tmpfs',
        source: 'tmpfs',
        options: [...quiet, 'mode=1777', 'size=256m'],
      },
      bind(settings, workerPaths.settings, ['ro']),
      bind(`${settings}/hosts`, '/etc/hosts', ['ro']),
      bind(weights, workerPaths.weights, ['rro']),
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: [...quiet, 'ro'] },
      ...(reports === undefined ? [] : [bind(reports, workerPaths.reports, ['rw'])]),
    ],
    linux: {
      namespaces: ['pid', 'mount', 'ipc', 'uts', 'cgroup'].map((type) => ({ type })),
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

/** The worker's model list: each model is identified by the root hash of its volume. */
export function formatModels({ models }: MachineConfig): object[] {
  return models.map(({ id, task, file, volume, displayName, contextLength }) => ({
    id,
    task,
    path: `${workerPaths.weights}/${volume.label}/${file}`,
    verity_root: volume.root,
    ...(displayName !== undefined && { display_name: displayName }),
    ...(contextLength !== undefined && { context_length: contextLength }),
  }))
}

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
    ...(config.softwareIdentity === undefined
      ? []
      : ['--attestation', 'software', '--softwareIdentity', file('identity.json')]),
  ]
}
