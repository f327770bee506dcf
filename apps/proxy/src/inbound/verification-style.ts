/** The style of the verification page: light and dark, readable without it. */
export const pageStyle = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --card: #f6f8fa; --page: #fff;
  --good: #116329; --warn: #7d4e00; --bad: #a40e26; --link: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9da7b3; --line: #373e47; --card: #161b22;
  --page: #0d1117; --good: #56d364; --warn: #e3b341; --bad: #ff938a; --link: #79c0ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 54rem; padding: 1.5rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
.state { border-left: .3rem solid var(--line); padding: .5rem .75rem; margin: 0; background: var(--card); }
.good { border-color: var(--good); } .warn { border-color: var(--warn); } .bad { border-color: var(--bad); }
article { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: 1rem; margin: .75rem 0; }
dl { margin: 0; } dl > div { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: .15rem 0; }
dt { flex: 0 0 10rem; color: var(--soft); } dd { flex: 1 1 15rem; margin: 0; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, monospace; } a { color: var(--link); }
summary { cursor: pointer; margin-top: .5rem; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; margin-top: .5rem; }
th, td { text-align: left; font-weight: 400; padding: .2rem .75rem .2rem 0; vertical-align: top; border-top: 1px solid var(--line); }
td:last-child { overflow-wrap: anywhere; padding-right: 0; }
@media (max-width: 40rem) { dt { flex-basis: 100%; } thead { display: none; }
  tr { display: block; border-top: 1px solid var(--line); padding: .3rem 0; }
  th, td { border: 0; padding: 0 .5rem 0 0; } td:last-child { display: block; color: var(--soft); } }
footer { margin-top: 2rem; color: var(--soft); font-size: .9rem; }
`
