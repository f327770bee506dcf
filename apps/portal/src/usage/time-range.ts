/** Time ranges for plots: a step, its slots, and their labels. */

export type RangeName = 'day' | 'week' | 'month' | 'year'
export type Step = 'hour' | 'day' | 'month'

export type TimeRange = {
  readonly step: Step
  readonly from: Date
  readonly to: Date
  /** The start of each slot, oldest first. The gateway sums by UTC. */
  readonly slots: readonly Date[]
}

const shapes: Record<RangeName, { readonly step: Step; readonly count: number }> = {
  day: { step: 'hour', count: 24 },
  week: { step: 'day', count: 7 },
  month: { step: 'day', count: 30 },
  year: { step: 'month', count: 12 },
}

/** The slots up to and including the current one. */
export function timeRange(name: RangeName, now: Date): TimeRange {
  const { step, count } = shapes[name]
  const slots = Array.from({ length: count }, (_, index) => slotStart(now, step, index - count + 1))
  const to = slotStart(now, step, 1)
  return { step, from: slots[0] ?? to, to, slots }
}

function slotStart(now: Date, step: Step, offset: number): Date {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  switch (step) {
    case 'hour':
      return new Date(Date.UTC(year, month, day, now.getUTCHours() + offset))
    case 'day':
      return new Date(Date.UTC(year, month, day + offset))
    case 'month':
      return new Date(Date.UTC(year, month + offset, 1))
  }
}

const monthNames = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** Hours are in the reader's time zone; days and months are in UTC, as they are summed. */
export function formatSlot(slot: Date, step: Step): string {
  switch (step) {
    case 'hour':
      return `${String(slot.getHours()).padStart(2, '0')}:${String(slot.getMinutes()).padStart(2, '0')}`
    case 'day':
      return `${slot.getUTCDate()} ${monthNames[slot.getUTCMonth()]}`
    case 'month':
      return `${monthNames[slot.getUTCMonth()]} ${slot.getUTCFullYear()}`
  }
}
