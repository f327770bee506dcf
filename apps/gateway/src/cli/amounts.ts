/** Amounts of money as they are typed in a shell, in millionths and never through a fraction. */
import { GatewayError } from '../gateway-error.ts'

/** `0.15` is 150000. */
export function parseAmount(text: string): number {
  const [, whole, fraction = ''] = /^(\d{1,6})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  if (whole !== undefined) return Number(whole) * 1_000_000 + Number(fraction.padEnd(6, '0'))
  const message = `"${text}" is no amount such as 250 or 0.15`
  throw new GatewayError('settings_contradict', message)
}

/** `model=1/0.1/3,other=2/2/4`: input, cached input and output of each model. */
export function parsePrices(text: string) {
  return text
    .split(',')
    .filter((one) => one !== '')
    .map((one) => {
      const at = one.lastIndexOf('=')
      const [input, cached, output, ...more] = one.slice(at + 1).split('/')
      if (at < 1 || output === undefined || more.length > 0) {
        const message = `"${one}" is no price such as model=1/0.1/3`
        throw new GatewayError('settings_contradict', message)
      }
      return {
        model: one.slice(0, at),
        input_micros: parseAmount(input ?? ''),
        cached_micros: parseAmount(cached ?? ''),
        output_micros: parseAmount(output),
      }
    })
}
