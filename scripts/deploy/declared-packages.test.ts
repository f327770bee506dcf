/** Images contain what a package declares: an import that is not declared works here, and fails there. */
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from './locked-package.ts'

test('every workspace declares the workspaces that it imports', () => {
  const undeclared: string[] = []
  for (const parent of ['apps', 'packages']) {
    for (const name of readdirSync(join(repository, parent))) {
      const folder = join(repository, parent, name)
      const { name: self, dependencies = {} } = JSON.parse(
        readFileSync(join(folder, 'package.json'), 'utf8'),
      ) as { name: string; dependencies?: Record<string, string> }
      for (const file of new Bun.Glob('src/**/*.ts').scanSync(folder)) {
        if (/\.test\.ts$|(^|\/)testing\//.test(file)) continue
        const text = readFileSync(join(folder, file), 'utf8')
        for (const [, imported = ''] of text.matchAll(/ from '(@privatemode\/[a-z-]+)/g)) {
          if (imported !== self && !(imported in dependencies))
            undeclared.push(`${parent}/${name}/${file}: ${imported}`)
        }
      }
    }
  }
  expect(undeclared).toEqual([])
})
