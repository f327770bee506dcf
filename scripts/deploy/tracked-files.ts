/** Which files of the checkout belong to a build: those that git tracks, never what happens to lie beside them. */
import { repository, run } from './locked-package.ts'

/** Paths relative to `root`, in git's order; a path may be a folder. */
export function trackedFiles(paths: readonly string[], root = repository): string[] {
  const listed = run(['git', 'ls-files', '-z', '--', ...paths], { cwd: root })
  return listed.split('\0').filter((path) => path !== '')
}
