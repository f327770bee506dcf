/** Light, dark, or the system's theme. */
import { useState } from 'preact/hooks'
import { Button } from './view/button.tsx'
import type { IconName } from './view/icon.tsx'

type Theme = 'system' | 'light' | 'dark'

const storageKey = 'privatemode/theme'
const themes: Record<Theme, { next: Theme; icon: IconName; name: string }> = {
  system: { next: 'light', icon: 'half', name: 'system' },
  light: { next: 'dark', icon: 'sun', name: 'light' },
  dark: { next: 'system', icon: 'moon', name: 'dark' },
}

/** Applies the theme chosen earlier in this browser. */
export function startTheme(): void {
  applyTheme(readTheme())
}

export function ThemeButton() {
  const [theme, setTheme] = useState(readTheme)
  const { next, icon, name } = themes[theme]
  const change = () => {
    applyTheme(next)
    setTheme(next)
  }
  return (
    <Button kind="quiet" icon={icon} label={`Colours: ${name}. Change`} onClick={change}>
      Colours: {name}
    </Button>
  )
}

function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(storageKey)
    return stored === 'light' || stored === 'dark' ? stored : 'system'
  } catch {
    return 'system' // storage is disabled in this browser
  }
}

function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    localStorage.setItem(storageKey, theme)
  } catch {
    // storage is disabled: the choice lasts as long as the page
  }
  dispatchEvent(new Event('themechange'))
}
