/** Pages are read on screens: no paragraph or list item is longer than five lines. */
import { expect, test } from 'bun:test'
import { type MarkdownFile, markdownFiles } from './markdown-files.ts'

const maxLines = 5
/** Of a line in these documents. */
const maxLetters = maxLines * 142

function findLongParagraphs(files: readonly MarkdownFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    paragraphsOf(text)
      .filter((lines) => lines.length > maxLines || lines.join(' ').length > maxLetters)
      .map(([first = '']) => `${path}: ${first.slice(0, 60)}`),
  )
}

/** Without code, tables, headings and markup; each item of a list is one. */
function paragraphsOf(text: string): string[][] {
  return text
    .replace(/^ *(`{3,})[\s\S]*?^ *\1$/gm, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
    .map((block) => block.split('\n').filter((line) => line.trim() !== ''))
    .filter(([first]) => first !== undefined && !/^\s*[|<#]/.test(first))
}

test('no paragraph of a page is longer than five lines', () => {
  // The list of licences is a list of names.
  const pages = markdownFiles().filter(
    ({ path }) => /^docs\/[^/]+\.md$|^README\.md$/.test(path) && path !== 'docs/licences.md',
  )
  expect(pages.length).toBeGreaterThan(20)
  expect(findLongParagraphs(pages)).toEqual([])
})

test('a long paragraph and a long item are found; code and tables may be long', () => {
  const line = 'some words\n'
  const long = line.repeat(6)
  const text = `# Title\n\n${long}\n- ${long}- short\n\n\`\`\`\n${long}\`\`\`\n\n${'| a |\n'.repeat(9)}\n${'x'.repeat(800)}\n`
  expect(findLongParagraphs([{ path: 'a.md', text }])).toEqual([
    'a.md: some words',
    'a.md: - some words',
    `a.md: ${'x'.repeat(60)}`,
  ])
})
