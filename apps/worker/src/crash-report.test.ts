import { expect, test } from 'bun:test'
import { join } from 'node:path'

const module = JSON.stringify(join(import.meta.dir, 'crash-report.ts'))
const secret = 'words of a prompt'

test.each([
  ['an error', `throw new TypeError('it was\\n    at ${secret}')`, 'TypeError'],
  ['a rejection', `Promise.reject(new RangeError('${secret}'))`, 'RangeError'],
  ['a thrown string', `throw '${secret}'`, 'string'],
])('uncaught, %s ends the process, and its message is not printed', (_, code, told) => {
  const source = `
    import { reportCrashesTo } from ${module}
    reportCrashesTo(2)
    setTimeout(() => { ${code} }, 0)
    setTimeout(() => {}, 60_000)`
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, '-e', source])
  expect(exitCode).toBe(1)
  expect(stderr.toString()).toStartWith(`error: the worker failed: ${told}`)
  expect(`${stdout}${stderr}`).not.toContain(secret)
})
