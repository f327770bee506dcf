/** Compares the documentation of the examples with the files themselves. */
import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Flag } from '@privatemode/service'
import { program as stack } from '../../apps/stack/src/settings.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const examples = join(root, 'examples')

test('the quick start in the documentation is the tested file', () => {
  const documented = readFileSync(join(root, 'docs', 'sdk.md'), 'utf8')
  expect(documented).toContain(readFileSync(join(root, 'examples', 'quickstart.mjs'), 'utf8'))
})

test('the documentation lists every code of an error', () => {
  const documented = readFileSync(join(root, 'docs', 'sdk.md'), 'utf8')
  const source = readFileSync(join(root, 'packages', 'protocol', 'src', 'api', 'errors.ts'), 'utf8')
  const table = /const traits = \{(.*?)\n\}/s.exec(source)?.[1] ?? ''
  const codes = [...table.matchAll(/^ {2}(\w+):/gm)].map(([, code]) => code ?? '')
  expect(codes.length).toBeGreaterThan(20)
  expect(codes.filter((code) => !documented.includes(`\`${code}\``))).toEqual([])
})

test('every file that the documentation names exists', () => {
  const documented = readFileSync(join(root, 'docs', 'sdk.md'), 'utf8')
  const links = [...documented.matchAll(/\]\((\.\.\/examples[^)]*)\)/g)].map(
    ([, link]) => link ?? '',
  )
  expect(links.length).toBeGreaterThan(7)
  expect(links.filter((link) => !existsSync(join(root, 'docs', link)))).toEqual([])
})

test('the README of the examples lists each one, and none uses a port of the stack', () => {
  const told = readFileSync(join(examples, 'README.md'), 'utf8')
  const files = readdirSync(examples, { recursive: true, encoding: 'utf8' })
  const own = files.filter((name) => !name.includes('node_modules') && name !== 'README.md')
  const names = new Set(own.map((name) => name.split('/')[0] ?? name))
  expect([...names].filter((name) => !told.includes(`](${name}`))).toEqual([])
  const taken = Object.values<Flag>(stack.flags).map((flag) => flag.default)
  const sources = own.filter((name) => /\.m?js$/.test(name))
  const ports = sources.flatMap((name) =>
    [...readFileSync(join(examples, name), 'utf8').matchAll(/PORT \?\? (\d+)/g)].map(([, port]) =>
      Number(port),
    ),
  )
  expect(ports.length).toBeGreaterThan(1)
  expect(ports.filter((port) => taken.includes(port))).toEqual([])
})

test('the React example is tested with the versions that it names', () => {
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
  const { dependencies, devDependencies } = read('examples/react/package.json')
  const { '@privatemode/sdk': _, ...named } = { ...dependencies, ...devDependencies }
  const { optionalDependencies } = read('test/sdk/runtimes/package.json')
  expect(optionalDependencies).toMatchObject(named)
})
