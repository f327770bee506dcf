/** Shown while something is loaded; quiet, and in the shape of what will come. */
export function Waiting({ what, lines = 3 }: { readonly what: string; readonly lines?: number }) {
  return (
    <div class="waiting" role="status">
      <span class="hidden">Loading {what} …</span>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} class="waiting-line" />
      ))}
    </div>
  )
}
