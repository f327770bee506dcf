/** The badge in a page: it reflects the events, and is never greener than what was checked. */
import type { ClientEvent } from '@privatemode/sdk'
import { type Case, equal, expect } from './case.ts'
import { connect } from './suite.ts'

// Programs without a browser's types read this file too.
type Page = {
  createElement(name: string): unknown
  body: { append(child: unknown): void }
}
type Shown = {
  readonly state: string
  readonly onEvent: (event: ClientEvent) => void
  readonly shadowRoot: { readonly textContent: string }
}

export const browserBadgeCases: readonly Case[] = [
  {
    name: 'a badge shows a trial in amber, hardware in green, and a refusal in red',
    async run(config) {
      // Its declarations need a browser's types, which this program has not: bundlers see a plain import.
      const { definePrivatemodeBadge } = await import('@privatemode/sdk/badge' as string)
      definePrivatemodeBadge()
      definePrivatemodeBadge()
      const page = (globalThis as unknown as { document: Page }).document
      const make = () => {
        const badge = page.createElement('privatemode-badge') as Shown
        page.body.append(badge)
        return badge
      }
      const trial = make()
      equal(trial.state, 'waiting')
      await connect(config, { onEvent: trial.onEvent })
      equal(trial.state, 'caution')
      const text = trial.shadowRoot.textContent
      expect(text.includes('Trial: 1 machine without protected hardware'), text)
      expect(text.includes('Manifest 1'), text)
      const real = make()
      const machine = { kind: 'verified', workerId: 'w_1', hardware: true } as const
      real.onEvent({ ...machine, revocation: 'not checked' })
      equal(real.state, 'caution')
      real.onEvent({ ...machine, revocation: 'checked' })
      equal(real.state, 'verified')
      const [asOf, until] = [new Date('2026-01-05T12:00:00Z'), new Date('2026-01-08T12:00:00Z')]
      real.onEvent({ kind: 'manifest-aging', what: 'manifest', asOf, until })
      equal(real.state, 'caution')
      const expiry = `The manifest expires on ${until.toLocaleDateString()}`
      expect(real.shadowRoot.textContent.startsWith(expiry), real.shadowRoot.textContent)
      real.onEvent({ kind: 'manifest-aging', what: 'log', asOf, until })
      for (const warning of [expiry, 'The manifest log has not been signed for a while'])
        expect(real.shadowRoot.textContent.includes(warning), `the badge shows: ${warning}`)
      real.onEvent({ kind: 'log-recovered', warning: 'manifest-aging' })
      expect(!real.shadowRoot.textContent.includes('not been signed'), 'the log was signed again')
      real.onEvent({ kind: 'manifest-changed', digest: 'a'.repeat(64), serial: 2, from: undefined })
      equal(real.state, 'verified')
      real.onEvent({ kind: 'log-unreachable', reason: 'status 503', asOf, until })
      equal(real.state, 'caution')
      real.onEvent({ kind: 'log-recovered', warning: 'log-unreachable' })
      equal(real.state, 'verified')
      real.onEvent({ kind: 'refused', workerId: 'w_1', code: 'measurement_unknown' })
      equal(real.state, 'refused')
      expect(real.shadowRoot.textContent.includes('measurement_unknown'), 'the code is shown')
    },
  },
]
