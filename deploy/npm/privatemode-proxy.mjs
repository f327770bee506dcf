#!/usr/bin/env node
/** Runs the proxy on the Bun that this package pins, found among npm's packages whether or not install scripts ran. */
import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
// Copied here from scripts/ when the package is made.
import { launch } from './launch.mjs'

const program = join(dirname(fileURLToPath(import.meta.url)), 'proxy.js')
// A .env file or a bunfig.toml of the folder it is started in is none of its business.
const args = [
  '--no-install',
  '--no-env-file',
  `--config=${process.platform === 'win32' ? 'NUL' : '/dev/null'}`,
  program,
]
launch(findBun(), [...args, ...process.argv.slice(2)])

function findBun() {
  const require = createRequire(import.meta.url)
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const architecture = process.arch === 'arm64' ? 'aarch64' : process.arch
  // npm installs the one of the two whose C library is the system's.
  for (const libc of ['', '-musl']) {
    try {
      const found = require.resolve(`@oven/bun-${system}-${architecture}${libc}/package.json`)
      const path = join(dirname(found), 'bin', system === 'windows' ? 'bun.exe' : 'bun')
      if (existsSync(path)) return path
    } catch {
      // Not this one.
    }
  }
  // Where install scripts ran, Bun's own has moved the program there, in place of a few hundred bytes.
  try {
    const moved = join(dirname(require.resolve('bun/package.json')), 'bin', 'bun.exe')
    if (statSync(moved).size > 1_000_000) return moved
  } catch {
    // Neither there.
  }
  return stop(
    `no Bun for ${system}-${architecture} is installed: install without --omit=optional; Linux, macOS and Windows on x64 and arm64 are supported`,
  )
}

function stop(message) {
  process.stderr.write(`privatemode-proxy: ${message}\n`)
  process.exit(1)
}
