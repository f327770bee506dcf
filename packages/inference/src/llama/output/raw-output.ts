/** Unprocessed text, as a legacy completion returns it. */
import type { OutputPart, OutputReader } from './output-part.ts'

export class RawOutput implements OutputReader {
  readonly isReasoning = false
  readonly isAtCall = false
  readonly finishedCalls = 0

  push(text: string): OutputPart[] {
    return text === '' ? [] : [{ kind: 'content', text }]
  }

  end(): OutputPart[] {
    return []
  }
}
