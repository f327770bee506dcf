/**
 * Locks down the kernel once all drivers are loaded. Each value is read back: a mismatch stops the
 * machine.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { MachineError } from './machine-error.ts'

/** Below /proc/sys. */
export const kernelSettings: readonly (readonly [path: string, value: string])[] = [
  ['kernel/kexec_load_disabled', '1'],
  ['kernel/unprivileged_bpf_disabled', '1'],
  ['kernel/perf_event_paranoid', '3'],
  ['kernel/dmesg_restrict', '1'],
  ['kernel/kptr_restrict', '2'],
  ['kernel/yama/ptrace_scope', '3'],
  ['kernel/sysrq', '0'],
  ['kernel/core_pattern', ''],
  ['fs/suid_dumpable', '0'],
  ['user/max_user_namespaces', '0'],
  ['vm/swappiness', '0'],
  ['net/ipv4/icmp_echo_ignore_all', '1'],
  ['net/ipv4/conf/all/accept_redirects', '0'],
  ['net/ipv4/conf/all/accept_source_route', '0'],
  // Must be last: from here on no code can be loaded into the kernel.
  ['kernel/modules_disabled', '1'],
]

export function hardenKernel(): void {
  for (const [path, value] of kernelSettings) {
    writeFileSync(`/proc/sys/${path}`, `${value}\n`)
    const seen = readFileSync(`/proc/sys/${path}`, 'utf8').trim()
    if (seen !== value)
      refuse(`${path} is ${JSON.stringify(seen)}, expected ${JSON.stringify(value)}`)
  }
  const lockdown = readFileSync('/sys/kernel/security/lockdown', 'utf8')
  if (!lockdown.includes('[confidentiality]')) refuse(`kernel lockdown is ${lockdown.trim()}`)
  const swaps = readFileSync('/proc/swaps', 'utf8').trim().split('\n')
  if (swaps.length > 1) refuse('swap is enabled')
}

function refuse(message: string): never {
  throw new MachineError('hardening_failed', message)
}
