/** The shapes of workers in fewer and shorter ticks, for tests: the real ones take minutes. */
import type { TrafficShape } from '@privatemode/protocol/envelope'
import { type Shape, shapeOf } from '../../apps/worker/src/sealed/traffic-shape.ts'

/** How many units the shortest stream has. */
export const shortUnits = 60

export function shortShapes(name: TrafficShape): Shape {
  const { stream, whole } = shapeOf(name)
  if (stream === undefined || whole === undefined) return { stream, whole }
  return {
    stream: { ...stream, tickMs: 10, leastUnits: shortUnits, leastTokens: 0 },
    whole: {
      ...whole,
      otherAfterMs: whole.otherAfterMs === 0 ? 0 : 100,
      streamAfterMs: Math.min(whole.streamAfterMs, 1),
    },
  }
}
