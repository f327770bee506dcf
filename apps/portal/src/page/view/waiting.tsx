/** A placeholder shown while data is loading, in the shape of the content. */
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
