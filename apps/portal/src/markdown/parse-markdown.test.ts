import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Block, type Inline, parseMarkdown } from './parse-markdown.ts'

const text = (value: string): Inline => ({ kind: 'text', text: value })

/** All links in a tree. */
function linksOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(linksOf)
  if (typeof value !== 'object' || value === null) return []
  const own = 'kind' in value && value.kind === 'link' && 'url' in value ? [String(value.url)] : []
  return [...own, ...Object.values(value).flatMap(linksOf)]
}

test('headings, paragraphs, emphasis and code are distinguished', () => {
  expect(parseMarkdown('# A **b**\n\nOne `x*y` and *two*.')).toEqual([
    { kind: 'heading', level: 1, content: [text('A '), { kind: 'strong', content: [text('b')] }] },
    {
      kind: 'paragraph',
      content: [
        ...[text('One '), { kind: 'code' as const, text: 'x*y' }, text(' and ')],
        ...[{ kind: 'emphasis' as const, content: [text('two')] }, text('.')],
      ],
    },
  ])
})

test('a fence keeps its text unchanged, even before it is closed', () => {
  const code: Block = { kind: 'code', language: 'ts', text: 'const a = `**b**`\n\n# no' }
  expect(parseMarkdown('```ts\nconst a = `**b**`\n\n# no\n```')).toEqual([code])
  expect(parseMarkdown('```ts\nconst a = `**b**`\n\n# no')).toEqual([code])
})

test('lists nest, keep their numbers, and hold blocks', () => {
  const [list] = parseMarkdown('3. one\n   - in\n   - side\n4. two\n\n   ```\n   x\n   ```')
  expect(list).toMatchObject({ kind: 'list', start: 3 })
  const items = list?.kind === 'list' ? list.items : []
  expect(items[0]?.[1]).toMatchObject({ kind: 'list', start: undefined })
  expect(items[1]?.[1]).toEqual({ kind: 'code', language: '', text: 'x' })
})

test('tables have a head and rows, and quotes have blocks', () => {
  expect(parseMarkdown('| a | b |\n|---|:-:|\n| 1 | `2` |')).toEqual([
    {
      kind: 'table',
      head: [[text('a')], [text('b')]],
      rows: [[[text('1')], [{ kind: 'code', text: '2' }]]],
    },
  ])
  expect(parseMarkdown('> said\n> - so')).toMatchObject([
    { kind: 'quote', blocks: [{ kind: 'paragraph' }, { kind: 'list' }] },
  ])
})

test('names with underscores are not emphasis, and HTML is text', () => {
  expect(parseMarkdown('snake_case_name <b onclick=x>')).toEqual([
    { kind: 'paragraph', content: [text('snake_case_name <b onclick=x>')] },
  ])
})

test('links lead to pages and mail addresses only; images become links and load nothing', () => {
  const links = (source: string) => linksOf(parseMarkdown(source))
  expect(links('[a](https://a.example/x) https://b.example/y.')).toEqual([
    'https://a.example/x',
    'https://b.example/y',
  ])
  expect(links('![p](https://c.example/p.png) [m](mailto:a@b.example)')).toEqual([
    'https://c.example/p.png',
    'mailto:a@b.example',
  ])
  expect(links('[x](javascript:alert(1)) [y](data:text/html,1) [z](/keys)')).toEqual([])
})

test('any model output parses to a tree in bounded time, with safe links only', () => {
  const piece = fc.constantFrom(...'*_`~[]()<>!#|-+>\\\n 1.a'.split(''), '```', 'https://a.b', '](')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 400 }), (pieces) => {
      for (const url of linksOf(parseMarkdown(pieces.join('')))) {
        expect(url).toMatch(/^(https?:\/\/|mailto:)/i)
      }
    }),
    { numRuns: 300 },
  )
  for (const mark of ['*', '_', '`', '[', '> ', '- ', '~~', '**a ', '![](', '|']) {
    const started = performance.now()
    parseMarkdown(mark.repeat(20_000))
    expect(performance.now() - started).toBeLessThan(10_000)
  }
})
