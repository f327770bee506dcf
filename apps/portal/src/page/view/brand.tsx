/** The logo and the name. The logo is inlined, so that it uses the colours of the page. */
export function Brand() {
  return (
    <span class="mark">
      <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
        <rect class="mark-ground" width="32" height="32" rx="8" />
        <path d="M16 6 7.5 9.2v6.3c0 5.3 3.5 9 8.5 10.7 5-1.7 8.5-5.4 8.5-10.7V9.2z" />
        <path d="m12.3 16 2.7 2.7 5-5.2" />
      </svg>
      Privatemode
    </span>
  )
}
