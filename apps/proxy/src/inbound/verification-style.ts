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
b.good { color: var(--good); } b.caution { color: var(--warn); } b.bad { color: var(--bad); } b.open { color: var(--soft); }
.track { display: flex; align-items: center; margin: .5rem 0; }
.track > span { border: 1px solid var(--line); border-radius: .4rem; background: var(--card); padding: .4rem .7rem; text-align: center; }
.track .link { flex: 1 0 2.2rem; display: grid; place-items: center; position: relative; }
.track .link::before { content: ""; position: absolute; left: 0; right: 0; top: calc(50% - 1px); border-top: 2px solid currentColor; }
.track .caution::before, .track .open::before { border-top-style: dashed; }
.track i { position: relative; background: var(--page); border-radius: 50%; padding: 0 .3rem; font-style: normal; }
section > ul { list-style: none; padding: 0; margin: 0 0 1rem; } section > ul li { margin: .35rem 0; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .75rem; overflow-x: auto; }
@media (max-width: 40rem) { .track { flex-direction: column; align-items: stretch; } .track .link { flex: none; height: 1.8rem; }
  .track .link::before { left: calc(50% - 1px); right: auto; top: 0; bottom: 0; border-top: 0; border-left: 2px solid currentColor; }
  .track .caution::before, .track .open::before { border-left-style: dashed; } }
footer { margin-top: 2rem; color: var(--soft); font-size: .9rem; }
`
