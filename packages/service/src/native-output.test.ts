import { expect, test } from 'bun:test'
import { join } from 'node:path'

const module = JSON.stringify(join(import.meta.dir, 'native-output.ts'))

test('output to stdout and stderr is counted, not shown, including that of child processes', () => {
  const source = `
    import { writeSync } from 'node:fs'
    import { takeOverOutput } from ${module}
    const native = takeOverOutput()
    console.log('secret 1')
    console.error('secret 2')
    Bun.spawnSync(['sh', '-c', 'echo secret 3; echo secret 4 >&2'], { stdio: ['ignore', 'inherit', 'inherit'] })
    writeSync(native.ownError, 'own: ' + native.countLines() + '\\n')
    // More than a pipe holds: printing must not wait for a reader.
    for (let i = 0; i < 100; i++) writeSync(2, 'secret '.repeat(1000) + '\\n')
    writeSync(native.ownError, 'in all: ' + native.countLines() + '\\n')`
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, '-e', source])
  expect(stdout.toString()).toBe('')
  const [first, all] = process.platform === 'linux' ? [4, 104] : [0, 0]
  expect(stderr.toString()).toBe(`own: ${first}\nin all: ${all}\n`)
  expect(exitCode).toBe(0)
})
