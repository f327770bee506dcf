/** Runs something in another time zone, by a clock that is two days ahead. */
export async function elsewhereLater(run: () => Promise<void>): Promise<void> {
  const { Date: Today } = globalThis
  const { TZ } = process.env
  const later = () => Today.now() + 2 * 24 * 3_600_000
  process.env.TZ = 'Pacific/Auckland'
  globalThis.Date = new Proxy(Today, {
    construct: (target, given) => Reflect.construct(target, given.length === 0 ? [later()] : given),
    get: (target, key) => (key === 'now' ? later : Reflect.get(target, key)),
  })
  try {
    await run()
  } finally {
    globalThis.Date = Today
    process.env.TZ = TZ ?? 'UTC'
  }
}
