/** A point in time in relative form; the element contains the exact one. */
import { formatAgo, formatMoment } from '../../words/format-time.ts'

export function Moment({ iso, ago = false }: { readonly iso: string; readonly ago?: boolean }) {
  const exact = formatMoment(iso)
  return (
    <time dateTime={iso} title={exact}>
      {ago ? formatAgo(iso, new Date()) : exact}
    </time>
  )
}
