import { expect, test } from 'bun:test'
import { markdownFiles } from './markdown-files.ts'
import { findSpelling } from './spelling.ts'

test('documents have no common misspelling, no doubled word and no banned phrase', () => {
  expect(findSpelling(markdownFiles())).toEqual([])
})

test('each of these is found, and code is ignored', () => {
  const text = 'We recieve the the request. `teh` A contradiction\nstops it.\n```\nseperate\n```\n'
  expect(findSpelling([{ path: 'a.md', text }])).toEqual([
    'a.md: recieve: write receive',
    'a.md: "the" is there twice in a row',
    'a.md: "A contradiction stops": see the style of the documents',
  ])
})
