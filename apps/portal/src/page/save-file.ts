/** Offers the visitor a file created in this page. */
export function saveFile(content: string | Uint8Array, name: string): void {
  const part = typeof content === 'string' ? content : content.slice()
  const url = URL.createObjectURL(new Blob([part], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
