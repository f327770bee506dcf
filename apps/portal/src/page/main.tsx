/** Renders the portal. */
import { render } from 'preact'
import { App } from './app.tsx'
import { startRouter } from './router.tsx'
import { startTheme } from './theme.tsx'

startTheme()
startRouter()
const root = document.getElementById('portal')
if (root !== null) render(<App />, root)
