/** One plot with its legend, and the same numbers as a table. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Series } from '../../../usage/usage-series.ts'
import type { Plot, PlotFacts } from './draw-plot.ts'

type PlotCardProps = PlotFacts & {
  readonly title: string
  readonly format: (value: number) => string
}

export function PlotCard({ title, format, ...facts }: PlotCardProps) {
  const { labels, series } = facts
  const [pointed, setPointed] = useState<number>()
  const frame = usePlot(facts, setPointed)
  const shown = (values: Series['values'], index: number) => {
    const value = values[index]
    return value === null || value === undefined ? '–' : format(value)
  }
  return (
    <section class="card plot" aria-label={title}>
      <h2>{title}</h2>
      <ul class="legend" aria-hidden="true">
        <li class="slot">{pointed === undefined ? '' : labels[pointed]}</li>
        {series.map(({ name, values }, index) => (
          <li key={name}>
            <span class={`chip series-${index + 1}`} />
            {name}
            {pointed !== undefined && <strong>{shown(values, pointed)}</strong>}
          </li>
        ))}
      </ul>
      <div
        class="frame"
        ref={frame}
        role="img"
        aria-label={`Plot: ${title}. The table has the numbers.`}
      />
      <details>
        <summary>Show as table</summary>
        <div class="table">
          <table>
            <caption class="hidden">{title}</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {labels.map((label, index) => (
                <tr key={label}>
                  <th scope="row">{label}</th>
                  {series.map(({ name, values }) => (
                    <td key={name} class="number">
                      {shown(values, index)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  )
}

/** Draws into the element, and redraws when size, colours or numbers change. */
function usePlot(facts: PlotFacts, onPoint: (index: number | undefined) => void) {
  const frame = useRef<HTMLDivElement>(null)
  const key = JSON.stringify([facts.kind, facts.labels, facts.series])
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    let plot: Plot | undefined
    let gone = false
    const draw = async () => {
      const { drawPlot } = await import('./draw-plot.ts')
      if (gone) return
      plot?.remove()
      plot = drawPlot(element, facts, onPoint)
    }
    const resized = new ResizeObserver(() => plot?.resize())
    resized.observe(element)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const redraw = () => void draw()
    scheme.addEventListener('change', redraw)
    addEventListener('themechange', redraw)
    redraw()
    return () => {
      gone = true
      plot?.remove()
      resized.disconnect()
      scheme.removeEventListener('change', redraw)
      removeEventListener('themechange', redraw)
    }
  }, [key])
  return frame
}
