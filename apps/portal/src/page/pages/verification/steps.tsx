/** The steps of a verification, and how far it came. */
import { Icon, type IconName } from '../../view/icon.tsx'

export type StepName = 'log' | 'manifest' | 'machine'

type Step = {
  readonly name: StepName
  /** What is known once it has passed, and what there was to show until then. */
  readonly shown: string
  readonly wanted: string
}

const steps: readonly Step[] = [
  {
    name: 'log',
    shown:
      'The manifest log is signed by the key that you trust, and has only grown since this browser saw it first.',
    wanted:
      'The manifest log has to be signed by the key that you trust, and may only have grown since this browser saw it first.',
  },
  {
    name: 'manifest',
    shown:
      'The manifest is in that log. It lists the software and the models that machines may run.',
    wanted:
      'The manifest has to be in that log. It lists the software and the models that machines may run.',
  },
  {
    name: 'machine',
    shown:
      'Each machine proved, for a random number of this browser, that it runs what the manifest lists, and that its encryption key is its own.',
    wanted:
      'Each machine has to prove, for a random number of this browser, that it runs what the manifest lists, and that its encryption key is its own.',
  },
]

type Outcome = { readonly icon: IconName; readonly word: string; readonly kind: string }

const outcomes = {
  passed: { icon: 'check', word: 'Passed', kind: 'good' },
  failed: { icon: 'cross', word: 'Failed', kind: 'bad' },
  open: { icon: 'dash', word: 'Not reached', kind: 'open' },
} as const satisfies Record<string, Outcome>

/** `reached` is where it failed, `all` where nothing did, `none` where nothing could be checked. */
export function Steps({ reached }: { readonly reached: StepName | 'all' | 'none' }) {
  const failedAt = steps.findIndex(({ name }) => name === reached)
  const outcomeOf = (index: number): Outcome => {
    if (reached === 'all') return outcomes.passed
    if (reached === 'none' || index > failedAt) return outcomes.open
    return index === failedAt ? outcomes.failed : outcomes.passed
  }
  return (
    <ol class="steps">
      {steps.map(({ name, shown, wanted }, index) => {
        const { icon, word, kind } = outcomeOf(index)
        return (
          <li key={name} class={kind}>
            <Icon name={icon} />
            <span>
              <strong>{word}.</strong> {kind === 'good' ? shown : wanted}
            </span>
          </li>
        )
      })}
    </ol>
  )
}
