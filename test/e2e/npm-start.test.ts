import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ourPackage from '../../package.json'

/** Stands in for the stack: reports that it runs, and what stopped it. */
const program = `
import { writeFileSync } from 'node:fs'
process.on('SIGTERM', () => { writeFileSync('ended-by', 'SIGTERM'); process.exit(0) })
setTimeout(() => process.exit(1), 50_000)
console.log('running')
`

test('ending `npm start` ends the stack: the signal is not lost in a shell between them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-npm-start-'))
  try {
    mkdirSync(join(folder, 'scripts'))
    writeFileSync(join(folder, 'scripts/start.mjs'), program)
    const { start } = ourPackage.scripts
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { start } }))
    const npm = Bun.spawn(['npm', 'start', '--silent'], { cwd: folder, stderr: 'ignore' })
    const { value } = await npm.stdout.getReader().read()
    expect(Buffer.from(value ?? []).toString()).toContain('running')
    npm.kill('SIGTERM')
    await npm.exited
    expect(readFileSync(join(folder, 'ended-by'), 'utf8')).toBe('SIGTERM')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}, 240_000)
