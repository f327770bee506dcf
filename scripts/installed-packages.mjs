/** Compares what npm recorded in node_modules with the lock file. */

/**
 * Returns whether the record (`node_modules/.package-lock.json`, which npm writes last) has every
 * package that the lock file pins for this platform. `runtime` leaves out development packages.
 */
export function hasPackages(lockText, recordText, mode) {
  const locked = JSON.parse(lockText).packages
  const recorded = JSON.parse(recordText).packages
  return Object.entries(locked).every(([path, pinned]) => {
    if (!path.includes('node_modules/')) return true // the workspaces themselves
    if (mode === 'runtime' && (pinned.dev || pinned.devOptional)) return true
    const found = recorded[path]
    if (found === undefined) return pinned.optional === true && !isForHere(pinned)
    return found.version === pinned.version && found.integrity === pinned.integrity
  })
}

function isForHere({ os, cpu, libc }) {
  if (libc?.includes('musl')) return false // which C library this is, only npm knows
  return (os?.includes(process.platform) ?? true) && (cpu?.includes(process.arch) ?? true)
}
