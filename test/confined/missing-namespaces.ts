/** Whether this machine lets a program make namespaces; empty where it does. */
export function missingNamespaces(): string[] {
  const flags = ['--mount', '--net', '--pid', '--uts', '--ipc', '--cgroup', '--fork']
  const { exitCode, stderr } = Bun.spawnSync([
    'unshare',
    ...flags,
    ...['--mount-proc', 'mount', '-t', 'sysfs', 'sysfs', '/sys'],
  ])
  return exitCode === 0 ? [] : [`namespaces cannot be made here: ${stderr.toString().trim()}`]
}
