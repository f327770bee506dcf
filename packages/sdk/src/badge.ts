/** `<privatemode-badge>`: shows on a page what a client's `onEvent` reports about its verification. */
import type { ClientEvent } from './options.ts'

type Machine = { readonly hardware: boolean; readonly revocation: string }

/** Never greener than what was checked: software evidence and unchecked revocation are amber. */
export type BadgeState = 'waiting' | 'verified' | 'caution' | 'refused'

const styles = `
:host { display: inline-block; font: 500 0.875rem/1.4 system-ui, sans-serif; }
details { padding: 0.3em 0.75em; border: 1px solid; border-radius: 1.2em; }
summary { display: flex; gap: 0.5em; align-items: center; cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before { content: ""; inline-size: 0.6em; block-size: 0.6em; border-radius: 50%; background: currentColor; }
ul { margin: 0.4em 0 0.2em; padding: 0 0 0 1.1em; font-weight: 400; overflow-wrap: anywhere; }
details { color: light-dark(#535c6b, #a6afbe); background: light-dark(#eef0f4, #1b1e25); }
[data-state=verified] { color: light-dark(#146c43, #6fd6a0); background: light-dark(#e4f4ea, #16301f); }
[data-state=caution] { color: light-dark(#8a4b00, #f2bd6b); background: light-dark(#fdf1dc, #38290f); }
[data-state=refused] { color: light-dark(#b3261e, #ff9d94); background: light-dark(#fdeae8, #3c1b1a); }
`

// Server-side rendering imports this too, where HTMLElement does not exist.
const Element: typeof HTMLElement =
  globalThis.HTMLElement ?? (class {} as unknown as typeof HTMLElement)

/** The custom element. Register it with `definePrivatemodeBadge`. */
export class PrivatemodeBadge extends Element {
  readonly #machines = new Map<string, Machine>()
  readonly #refused = new Map<string, string>()
  #manifest: string | undefined
  readonly #warnings = new Map<string, string>()

  /** Pass this to a client: `new PrivatemodeOpenAI({ onEvent: badge.onEvent })`. */
  readonly onEvent = (event: ClientEvent): void => {
    this.#note(event)
    this.#draw()
  }

  get state(): BadgeState {
    const machines = [...this.#machines.values()]
    if (machines.length === 0) return this.#refused.size > 0 ? 'refused' : 'waiting'
    const isWhole = machines.every(
      ({ hardware, revocation }) => hardware && revocation === 'checked',
    )
    return isWhole && this.#warnings.size === 0 ? 'verified' : 'caution'
  }

  connectedCallback(): void {
    if (this.shadowRoot === null) {
      const sheet = new CSSStyleSheet()
      sheet.replaceSync(styles)
      this.attachShadow({ mode: 'open' }).adoptedStyleSheets = [sheet]
    }
    this.#draw()
  }

  #note(event: ClientEvent): void {
    switch (event.kind) {
      case 'verified':
        this.#refused.delete(event.workerId)
        this.#machines.set(event.workerId, event)
        return
      case 'refused':
        this.#machines.delete(event.workerId)
        this.#refused.set(event.workerId, event.code)
        return
      case 'unreachable':
        this.#machines.delete(event.workerId)
        return
      case 'manifest-changed':
        this.#manifest = `Manifest ${event.serial}: ${event.digest.slice(0, 16)}…`
        this.#warnings.clear()
        return
      case 'log-unreachable':
        this.#warnings.set(event.kind, 'The manifest log is unreachable')
        return
      case 'log-recovered':
        this.#warnings.delete(event.warning === 'log-unreachable' ? event.warning : 'log')
        return
      case 'manifest-aging':
        this.#warnings.set(
          event.what,
          event.what === 'log'
            ? 'The manifest log has not been signed for a while'
            : `The manifest expires on ${event.until.toLocaleDateString()}`,
        )
        return
    }
  }

  #draw(): void {
    const root = this.shadowRoot
    if (root === null) return
    const wasOpen = root.querySelector('details')?.open ?? false
    const details = document.createElement('details')
    details.dataset.state = this.state
    details.open = wasOpen
    const summary = document.createElement('summary')
    summary.setAttribute('role', 'status')
    summary.textContent = this.#headline()
    const list = document.createElement('ul')
    for (const line of this.#lines()) {
      const item = document.createElement('li')
      item.textContent = line
      list.append(item)
    }
    details.append(summary, list)
    root.replaceChildren(details)
  }

  #headline(): string {
    const count = this.#machines.size
    const machines = `${count} ${count === 1 ? 'machine' : 'machines'}`
    switch (this.state) {
      case 'waiting':
        return 'Not verified yet'
      case 'refused':
        return 'Refused: nothing is sent'
      case 'verified':
        return `Verified: ${machines}`
      case 'caution': {
        const trial = [...this.#machines.values()].some(({ hardware }) => !hardware)
        if (trial) return `Trial: ${machines} without protected hardware`
        const [warning] = this.#warnings.values()
        return warning ?? `Verified: ${machines}; revocation was not fully checked`
      }
    }
  }

  #lines(): string[] {
    return [
      ...(this.#manifest === undefined ? [] : [this.#manifest]),
      ...this.#warnings.values(),
      ...[...this.#machines].map(
        ([id, { hardware, revocation }]) =>
          `${id}: ${hardware ? 'protected hardware' : 'software, protects nothing'}; revocation ${revocation}`,
      ),
      ...[...this.#refused].map(([id, code]) => `${id}: refused (${code})`),
    ]
  }
}

/** Registers the element. Calling it more than once is harmless. */
export function definePrivatemodeBadge(name = 'privatemode-badge'): void {
  if (customElements.get(name) === undefined) customElements.define(name, PrivatemodeBadge)
}
