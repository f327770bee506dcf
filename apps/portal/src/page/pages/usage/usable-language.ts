/**
 * uPlot creates a number format from the browser's language while it loads. A Chromium started
 * without a locale reports "en-US@posix", which no format accepts; then no plot would be drawn.
 */
if (!isUsable(navigator.language))
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true })

function isUsable(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length > 0
  } catch {
    return false
  }
}
