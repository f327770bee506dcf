import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findDeadLinks } from './links.ts'
import { markdownFiles, repository } from './markdown-files.ts'

test('every link between documents leads to an existing file and heading', () => {
  const dead = findDeadLinks(markdownFiles(), (path) => existsSync(join(repository, path)))
  expect(dead).toEqual([])
})

test('a link to a missing file, a missing heading and a missing picture are found', () => {
  const files = [
    { path: 'docs/a.md', text: '# Title\n[b](b.md#two-words) [c](c.md) [d](b.md#none)\n' },
    { path: 'docs/b.md', text: '## Two `words`\n```\n[x](not-a-link.md)\n```\n<img src="p.png">' },
  ]
  const dead = findDeadLinks(files, (path) => files.some((file) => file.path === path))
  expect(dead).toEqual([
    'docs/a.md: c.md: there is no docs/c.md',
    'docs/a.md: b.md#none: docs/b.md has no heading none',
    'docs/b.md: p.png: there is no docs/p.png',
  ])
})
