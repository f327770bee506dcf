import { expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'

const module = fileURLToPath(new URL('./clean-up.ts', import.meta.url))

const program = `
import { cleanUpOnSignal } from ${JSON.stringify(module)}
let times = 0
cleanUpOnSignal(async () => {
  console.log('begun ' + ++times)
  await Bun.sleep(500)
  console.log('done')
})
console.log('ready')
setInterval(() => {}, 1000)`

test('one Ctrl-C arrives several times; the clean-up runs once, to its end', async () => {
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe' })
  const decoder = new TextDecoder()
  let output = ''
  for await (const chunk of child.stdout) {
    output += decoder.decode(chunk)
    if (output.endsWith('ready\n')) child.kill('SIGINT')
    if (output.endsWith('begun 1\n')) {
      child.kill('SIGINT')
      child.kill('SIGTERM')
    }
  }
  expect(output).toBe('ready\nbegun 1\ndone\n')
  expect(await child.exited).toBe(130)
})
