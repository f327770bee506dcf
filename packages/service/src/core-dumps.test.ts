import { expect } from 'bun:test'
import { join } from 'node:path'
import { unlessMissing } from './testing/conditional-tests.ts'

const noLinux = process.platform === 'linux' ? undefined : 'only Linux has /proc/self/limits'

unlessMissing(noLinux).test(
  'a program that forbids core dumps leaves none, nor do its children',
  () => {
    const source = `
    import { forbidCoreDumps } from ${JSON.stringify(join(import.meta.dir, 'core-dumps.ts'))}
    const could = forbidCoreDumps()
    const child = Bun.spawnSync(['cat', '/proc/self/limits'])
    console.log(could, /core file size +(\\d+) +(\\d+)/.exec(child.stdout.toString())?.slice(1).join())`
    const { stdout, stderr } = Bun.spawnSync([process.execPath, '-e', source])
    expect(`${stdout}${stderr}`.trim()).toBe('true 0,0')
  },
)
