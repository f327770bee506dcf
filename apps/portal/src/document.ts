/** The portal's single document; every page is rendered into it. */

/** No inline scripts or styles: the content security policy allows neither. */
export function formatDocument(script: string, style: string, mark: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Private inference: keys, usage, verification, playground">
<title>Privatemode</title>
<link rel="icon" href="/${mark}" type="image/svg+xml">
<link rel="stylesheet" href="/${style}">
<script type="module" src="/${script}"></script>
</head>
<body>
<div id="portal"></div>
<noscript><p>These pages verify the backend and encrypt in your browser, which needs JavaScript. Without it, use the proxy or the API.</p></noscript>
</body>
</html>
`
}
