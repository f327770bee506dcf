/** Renders Markdown as elements: model text never becomes HTML. */
import type { ComponentChildren } from 'preact'
import { type Block, type Inline, parseMarkdown } from '../../../markdown/parse-markdown.ts'
import { CodeBlock } from '../../view/code-block.tsx'

export function MarkdownView({ text }: { readonly text: string }) {
  return <div class="markdown">{parseMarkdown(text).map(drawBlock)}</div>
}

// The tree of a growing text keeps its order, so positions are good keys.
function drawBlock(block: Block, key: number): ComponentChildren {
  switch (block.kind) {
    case 'paragraph':
      return <p key={key}>{block.content.map(drawInline)}</p>
    case 'heading':
      // Below the page's headings, whatever level the model chose.
      return block.level <= 2 ? (
        <h3 key={key}>{block.content.map(drawInline)}</h3>
      ) : (
        <h4 key={key}>{block.content.map(drawInline)}</h4>
      )
    case 'code':
      return <CodeBlock key={key} what={block.language || 'code'} text={block.text} />
    case 'quote':
      return <blockquote key={key}>{block.blocks.map(drawBlock)}</blockquote>
    case 'rule':
      return <hr key={key} />
    case 'list': {
      const items = block.items.map((item, index) => <li key={index}>{item.map(drawBlock)}</li>)
      return block.start === undefined ? (
        <ul key={key}>{items}</ul>
      ) : (
        <ol key={key} start={block.start}>
          {items}
        </ol>
      )
    }
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: wide tables are scrolled with the keyboard
        <div key={key} class="markdown-table" tabIndex={0}>
          <table>
            <thead>
              <tr>{block.head.map(drawHead)}</tr>
            </thead>
            <tbody>
              {block.rows.map((row, index) => (
                <tr key={index}>{row.map(drawCell)}</tr>
              ))}
            </tbody>
          </table>
        </div>
      )
  }
}

const drawHead = (cell: readonly Inline[], key: number) => (
  <th key={key} scope="col">
    {cell.map(drawInline)}
  </th>
)

const drawCell = (cell: readonly Inline[], key: number) => <td key={key}>{cell.map(drawInline)}</td>

function drawInline(inline: Inline, key: number): ComponentChildren {
  switch (inline.kind) {
    case 'text':
      return inline.text
    case 'break':
      return <br key={key} />
    case 'code':
      return <code key={key}>{inline.text}</code>
    case 'strong':
      return <strong key={key}>{inline.content.map(drawInline)}</strong>
    case 'emphasis':
      return <em key={key}>{inline.content.map(drawInline)}</em>
    case 'deleted':
      return <del key={key}>{inline.content.map(drawInline)}</del>
    case 'link':
      return (
        <a key={key} href={inline.url} target="_blank" rel="noopener noreferrer nofollow">
          {inline.content.map(drawInline)}
        </a>
      )
  }
}
