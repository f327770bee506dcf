/** Compiles the proxy into one executable file. The same commit gives the same bytes in any folder. */
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { lockedFolder, repository, run } from './locked-package.ts'
import type { Target } from './targets.ts'

export function compileProxy(target: Target, outPath: string, root = repository): void {
  const runtime = join(
    lockedFolder(target.runtimePackage),
    target.executable.endsWith('.exe') ? 'bin/bun.exe' : 'bin/bun',
  )
  // The file's own name becomes part of it, so it is always built under the same one.
  const work = mkdtempSync(join(tmpdir(), 'privatemode-compile-'))
  try {
    const built = join(work, target.executable)
    run(
      [
        process.execPath,
        ...['build', '--compile'],
        // Parsed and compiled to bytecode here, it starts in less than half the time.
        ...['--bytecode', '--format=esm'],
        // A program that holds keys must not read settings from the folder it happens to be started in.
        ...['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig'],
        `--target=${target.bunTarget}`,
        `--compile-executable-path=${runtime}`,
        ...[join('apps', 'proxy', 'src', 'main.ts'), '--outfile', built],
      ],
      { cwd: root },
    )
    mkdirSync(dirname(outPath), { recursive: true })
    copyFileSync(built, outPath)
    chmodSync(outPath, 0o755)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
