/** The measured command line: which root file system, configuration and variant the machine boots. */
import { MachineError } from './machine-error.ts'

/**
 * The machine's purpose. `software` attests without hardware, for tests; `debug` shows the kernel's
 * messages. Both have different measurements, and no production manifest may list them.
 */
export const variants = ['production', 'software', 'debug'] as const
export type Variant = (typeof variants)[number]

export type Launch = {
  readonly variant: Variant
  readonly root: { readonly hash: string; readonly blocks: number }
  /** SHA-256 of the configuration. */
  readonly config: string
}

/** For every variant: only modules signed by Debian, stop on errors, no console output. */
const hardening = [
  'ro',
  'panic=-1',
  'oops=panic',
  'lockdown=confidentiality',
  'module.sig_enforce=1',
  'ipv6.disable=1',
  'debugfs=off',
  'vsyscall=none',
  'slab_nomerge',
  'init_on_free=1',
  'random.trust_cpu=on',
  'random.trust_bootloader=off',
  'rdinit=/machine/first',
]
const silent = ['quiet', 'loglevel=0', 'console=null']
/** Emulated processors, as used in tests, have timers that the kernel's own check does not trust. */
const emulated = ['no_timer_check']
const talkative = ['loglevel=7', 'console=ttyS0']

export function formatCommandLine({ variant, root, config }: Launch): string {
  return [
    ...hardening,
    ...(variant === 'debug' ? talkative : silent),
    ...(variant === 'software' ? emulated : []),
    `pm.variant=${variant}`,
    `pm.root=${root.hash}`,
    `pm.root_blocks=${root.blocks}`,
    `pm.config=${config}`,
  ].join(' ')
}

const keys = ['pm.variant', 'pm.root', 'pm.root_blocks', 'pm.config'] as const
type Key = (typeof keys)[number]

/** Refuses one of our keys if it is unknown, missing or duplicated. QEMU's firmware may add `initrd=`. */
export function parseCommandLine(text: string): Launch {
  const found = new Map<Key, string>()
  for (const word of text.trim().split(/\s+/)) {
    if (!word.startsWith('pm.')) continue
    const [name = '', value = ''] = word.split('=', 2)
    const key = keys.find((known) => known === name)
    if (key === undefined) refuse(`unknown key ${name}`)
    if (found.has(key)) refuse(`duplicate ${name}`)
    found.set(key, value)
  }
  const read = (key: Key, pattern: RegExp): string => {
    const value = found.get(key)
    return value !== undefined && pattern.test(value) ? value : refuse(`${key} is missing or wrong`)
  }
  const variant = variants.find((known) => known === found.get('pm.variant'))
  return {
    variant: variant ?? refuse('pm.variant is missing or wrong'),
    root: {
      hash: read('pm.root', /^[0-9a-f]{64}$/),
      blocks: Number(read('pm.root_blocks', /^[1-9]\d{0,9}$/)),
    },
    config: read('pm.config', /^[0-9a-f]{64}$/),
  }
}

function refuse(message: string): never {
  throw new MachineError('command_line_invalid', `command line: ${message}`)
}
