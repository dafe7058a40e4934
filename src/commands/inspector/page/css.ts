/** Light or dark, as the browser likes it; on a narrow window each row is a block of its own. */
export const LIVE_CSS = `
:root {
  color-scheme: light dark;
  --line: #8884; --soft: #8882; --bad: #b3261e; --good: #1b6e3a; --news: #f9a82555; --dim: #5c6470;
}
@media (prefers-color-scheme: dark) {
  :root { --bad: #ff8a80; --good: #7bd88f; --dim: #a0a8b4; }
}
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem 1.5rem; max-width: 100rem; }
header { display: flex; flex-wrap: wrap; gap: 0 1.5rem; align-items: baseline; border-bottom: 1px solid var(--line); }
header p { margin: 0.4rem 0; }
h1 { margin: 0; font-size: 1.4rem; }
h2 { font-size: 1.05rem; margin: 1rem 0 0.5rem; }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(38rem, 100%), 1fr)); gap: 0 2.5rem; }
section { min-width: 0; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: baseline; padding: 0.3rem 1rem 0.3rem 0; }
thead th { color: var(--dim); font-size: 0.8rem; font-weight: 500; white-space: nowrap; }
tr.entry td { border-bottom: 1px solid var(--line); }
tr.entry td:first-child { padding-left: 0.6rem; }
#counts { color: var(--dim); font-size: 0.82rem; }
.healthy { color: var(--good); } .unhealthy { color: var(--bad); font-weight: 600; }
#facts { list-style: none; margin: 0; padding: 0; max-height: 80vh; overflow: auto; font-size: 0.88rem; }
#facts li {
  display: grid; grid-template-columns: 9.5rem 1fr; gap: 0 0.8rem;
  border-bottom: 1px solid var(--line); padding: 0.25rem 0;
}
.when { color: var(--dim); font: 0.78rem/1.7 ui-monospace, monospace; white-space: nowrap; }
.what { min-width: 0; overflow-wrap: anywhere; }
.detail { color: var(--dim); font-size: 0.82rem; }
.what pre { margin: 0.1rem 0; overflow-x: auto; font: 0.78rem/1.5 ui-monospace, monospace; }
li.step .text { font-weight: 600; } li.error .text { color: var(--bad); }
@media (max-width: 40rem) {
  body { padding: 0.75rem; }
  thead { display: none; }
  table, tbody, tr { display: block; }
  tr.entry { display: grid; grid-template-columns: 1fr 1fr; gap: 0 0.6rem; border-bottom: 1px solid var(--line); padding: 0.3rem 0.6rem; }
  tr.entry td { border: 0; padding: 0.1rem 0; }
  tr.entry td:first-child, tr.entry td:last-child { grid-column: 1 / -1; padding-left: 0; }
  td[data-label]::before { content: attr(data-label) " "; color: var(--dim); font-size: 0.8rem; }
  #facts { max-height: none; }
  #facts li { grid-template-columns: 1fr; }
}
`;
