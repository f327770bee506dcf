/** Amounts in millionths of a currency: as people read and type them. Never through a fraction. */

const decimals = 6

/** `€12.30`; small amounts keep the digits that they need. */
export function formatMoney(micros: number, currency: string): string {
  const small = micros !== 0 && Math.abs(micros) < 1_000_000
  return new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency,
    ...(small && { minimumFractionDigits: 2, maximumFractionDigits: decimals }),
  }).format(micros / 10 ** decimals)
}

/** What somebody typed, such as `0.15`; undefined if it is no amount. */
export function parseMoney(text: string): number | undefined {
  const [, whole, fraction = ''] = /^(\d{1,6})(?:\.(\d{1,6}))?$/.exec(text.trim()) ?? []
  if (whole === undefined) return undefined
  return Number(whole) * 10 ** decimals + Number(fraction.padEnd(decimals, '0'))
}

/** As it is typed: `0.15`, without a currency. */
export function moneyText(micros: number): string {
  const whole = Math.floor(micros / 10 ** decimals)
  const fraction = String(micros % 10 ** decimals).padStart(decimals, '0')
  return `${whole}.${fraction}`.replace(/\.?0+$/, '')
}
