/** The only script of the verification page: reloads the page's content and replaces what changed. */

/** Does not refresh while the page is being read closely (an open detail, a selection, a focus). */
export const pageScript = `
const renew = async () => {
  const isRead = document.querySelector('details[open]') || document.activeElement !== document.body
  if (document.hidden || isRead || getSelection().toString() !== '') return
  const response = await fetch('/', { cache: 'no-store', redirect: 'error' })
  const next = new DOMParser().parseFromString(await response.text(), 'text/html')
  for (const name of ['header', 'main', 'footer'])
    document.querySelector(name).replaceWith(next.querySelector(name))
}
setInterval(() => renew().catch(() => {
  const state = document.querySelector('.state')
  state.className = 'state bad'
  state.textContent = 'This proxy no longer answers: this page is out of date.'
}), RENEW_MS)
`
