import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Home } from './home.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-home-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a file is complete, readable by its owner only, and leaves no temporary file behind', () => {
  const home = new Home(join(folder, 'a'))
  home.write('secret', 'keys', 'token')
  home.write('other', 'keys', 'token')
  expect(new TextDecoder().decode(home.read('keys', 'token'))).toBe('other')
  expect(statSync(home.at('keys', 'token')).mode & 0o777).toBe(0o600)
  expect(statSync(home.path).mode & 0o777).toBe(0o700)
  expect(readdirSync(home.at('keys'))).toEqual(['token'])
})

test('a value that is made once is not made again', async () => {
  const home = new Home(join(folder, 'b'))
  let made = 0
  const make = () => `token ${++made}`
  expect(await home.once(make, 'token')).toBe('token 1')
  expect(await home.once(make, 'token')).toBe('token 1')
})

test('an unusable home is reported in one sentence with a remedy', () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  expect(() => new Home(join(file, 'inside'))).toThrow(/cannot be used .*--home/)
})
