/**
 * uPlot makes a format of numbers from the browser's language while it loads. A Chromium that was
 * started without a locale says "en-US@posix", which no format takes; then no plot would be drawn.
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
