/**
 * Replaces NVIDIA's tool in tests; its arguments select the behaviour: `print URL`, `hang`,
 * `flood`, `fail`.
 */
const [action, argument = ''] = process.argv.slice(2)

switch (action) {
  case 'print': {
    const names = Object.keys(process.env).join(' ')
    const response = await fetch(argument, { headers: { 'x-env': names } })
    process.stdout.write(await response.text())
    break
  }
  case 'flood':
    for (;;) {
      if (!process.stdout.write('x'.repeat(65536))) {
        await new Promise((resolve) => process.stdout.once('drain', resolve))
      }
    }
  case 'hang':
    setTimeout(() => process.exit(), 30_000) // a test that ends early leaves nothing running for long
    if (argument !== '') await fetch(argument)
    break
  default:
    console.error('no device found')
    process.exit(3)
}
