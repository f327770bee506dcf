export function hasPackages(lockText: string, recordText: string, mode: 'runtime' | 'all'): boolean
