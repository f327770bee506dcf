import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Block, type Inline, parseInline, parseMarkdown } from './parse-markdown.ts'

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
})

test('headings, rules, fences and dividers are told apart from text like them', () => {
  const kinds = (source: string) => parseMarkdown(source).map(({ kind }) => kind)
  const title = (source: string) => {
    const [block] = parseMarkdown(source)
    return block?.kind === 'heading' ? block.content.map((one) => 'text' in one && one.text) : block
  }
  expect(title('## a # b ##  ')).toEqual(['a # b'])
  expect(title('# a##')).toEqual(['a##'])
  expect(title('# #')).toEqual(['#'])
  expect(title('#')).toEqual([])
  expect(kinds('####### a\n\n#a')).toEqual(['paragraph', 'paragraph'])
  expect(kinds('- - -\n\n***\n\n_ __')).toEqual(['rule', 'rule', 'rule'])
  expect(kinds('--\n\n-*-\n\n    ---')).toEqual(['paragraph', 'paragraph', 'paragraph'])
  expect(kinds('a|b\n:-|-:')).toEqual(['table'])
  expect(kinds('a|b\n|:|-')).toEqual(['paragraph'])
  expect(parseMarkdown('~~~ ts x\na')).toEqual([{ kind: 'code', language: 'ts', text: 'a' }])
  expect(kinds('```a`b')).toEqual(['paragraph'])
})

test('code ends at as many backticks as it began with, and two spaces end a line', () => {
  expect(parseInline('a ``b`c`` `d')).toEqual([
    { kind: 'text', text: 'a ' },
    { kind: 'code', text: 'b`c' },
    { kind: 'text', text: ' `d' },
  ])
  expect(parseInline('a  \nb \nc')).toEqual([
    { kind: 'text', text: 'a' },
    { kind: 'break' },
    { kind: 'text', text: 'b ' },
    { kind: 'text', text: '\n' },
    { kind: 'text', text: 'c' },
  ])
})

/** Texts that made patterns go back and forth; each is as long as one paragraph may be. */
const long = 19_900
const hostile: readonly string[] = [
  ...['*', '_', '`', '[', '> ', '- ', '~~', '**a ', '![](', '|', '` `` ', '[a](', 'https://.'],
  `x ${'`'.repeat(long)}`,
  `# a${' '.repeat(long)}b`,
  `# a${' #'.repeat(long / 2)}b`,
  `a|b\n${'-'.repeat(long)}x`,
  `\`\`\`${'a '.repeat(long / 2)}\``,
  `${'- '.repeat(long / 2)}x`,
  `[a](${' '.repeat(long)}`,
  `[a](${'b'.repeat(long)}`,
  `a${' '.repeat(long)}b`,
  Array.from({ length: 190 }, (_, length) => `x${'`'.repeat(length + 1)}`).join(''),
]

test.each(hostile.map((text) => [text.slice(0, 12), text]))(
  '200,000 characters of %p are parsed without delay',
  (_, text) => {
    const times = Math.floor(200_000 / (text.length + 2))
    const started = performance.now()
    parseMarkdown(`${text}\n\n`.repeat(times))
    parseMarkdown(text.repeat(times))
    expect(performance.now() - started).toBeLessThan(2_000)
  },
)
