/** Draws a plot with uPlot; loaded when the first plot is shown. */
// First, because modules are loaded in this order.
import './usable-language.ts'
import UPlot from 'uplot'
import { gridLines } from '../../../usage/plot-axis.ts'
import type { Series } from '../../../usage/usage-series.ts'

export type PlotFacts = {
  /** `stack`: bars on top of each other. */
  readonly kind: 'stack' | 'line'
  readonly labels: readonly string[]
  readonly series: readonly Series[]
  /** The maximum of the axis, if known. */
  readonly top?: number
  readonly formatAxis: (value: number) => string
}

export type Plot = { resize(): void; remove(): void }

const heightPx = 220

/** `onPoint` is called with the slot under the pointer. */
export function drawPlot(
  element: HTMLElement,
  facts: PlotFacts,
  onPoint: (index: number | undefined) => void,
): Plot {
  const { labels, kind, formatAxis, top } = facts
  const colours = readColours(element, facts.series.length)
  const indices = labels.map((_, index) => index)
  const drawn = facts.kind === 'stack' ? stack(facts) : facts.series.map(({ values }) => values)
  // The tallest of a stack is drawn first, so that the others are in front of it.
  const order = kind === 'stack' ? drawn.map((_, index) => drawn.length - 1 - index) : undefined
  const places = order ?? drawn.map((_, index) => index)
  const most = Math.max(0, ...drawn.flat().map((value) => value ?? 0))
  const lines = gridLines(top ?? most, kind === 'stack')
  const plot = new UPlot(
    {
      width: Math.max(1, element.clientWidth),
      height: heightPx,
      legend: { show: false },
      cursor: { y: false, points: { show: kind === 'line' }, drag: { x: false, y: false } },
      padding: [8, 12, 0, 0],
      scales: {
        x: { time: false, range: [-0.6, labels.length - 0.4] },
        y: { range: [0, lines.at(-1) ?? 1] },
      },
      axes: [
        {
          stroke: colours.soft,
          grid: { show: false },
          ticks: { show: false },
          incrs: [1, 2, 3, 4, 5, 6, 7, 10, 12],
          space: 64,
          size: 28,
          values: (_, splits) => splits.map((index) => labels[index] ?? ''),
        },
        {
          stroke: colours.soft,
          grid: { stroke: colours.line, width: 1 },
          ticks: { show: false },
          size: 64,
          splits: [...lines],
          values: (_, splits) => splits.map((value) => formatAxis(value)),
        },
      ],
      series: [
        {},
        ...places.map((place) => seriesStyle(kind, colours.series[place] ?? colours.soft)),
      ],
      hooks: {
        setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)],
      },
    },
    [indices, ...places.map((place) => [...(drawn[place] ?? [])])] as UPlot.AlignedData,
    element,
  )
  return {
    resize: () => plot.setSize({ width: Math.max(1, element.clientWidth), height: heightPx }),
    remove: () => plot.destroy(),
  }
}

function seriesStyle(kind: PlotFacts['kind'], colour: string): UPlot.Series {
  if (kind === 'line') return { stroke: colour, width: 2, points: { size: 6, fill: colour } }
  const paths = UPlot.paths.bars?.({ size: [0.72, 44], radius: 0.12 })
  return { fill: colour, width: 0, points: { show: false }, ...(paths && { paths }) }
}

/** Each series on top of those before it. */
function stack({ series, labels }: PlotFacts): number[][] {
  const reached = labels.map(() => 0)
  return series.map(({ values }) =>
    labels.map((_, index) => {
      reached[index] = (reached[index] ?? 0) + (values[index] ?? 0)
      return reached[index]
    }),
  )
}

type Colours = { readonly soft: string; readonly line: string; readonly series: string[] }

/** The colours come from the style sheet; a canvas has to be given them explicitly. */
function readColours(element: HTMLElement, count: number): Colours {
  const probe = document.createElement('span')
  probe.hidden = true
  element.append(probe)
  const read = (className: string) => {
    probe.className = className
    return getComputedStyle(probe).color
  }
  const series = Array.from({ length: count }, (_, index) => read(`chip series-${index + 1}`))
  const colours = { soft: read('plot-soft'), line: read('plot-line'), series }
  probe.remove()
  return colours
}
