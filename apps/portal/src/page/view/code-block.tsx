/** A piece of code or text to copy. */
import { CopyButton } from './copy-button.tsx'

type CodeBlockProps = {
  readonly text: string
  /** What it is, for screen readers and the copy button. */
  readonly what: string
}

export function CodeBlock({ text, what }: CodeBlockProps) {
  return (
    <figure class="code" aria-label={what}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled with the keyboard */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} what={what} />
    </figure>
  )
}
