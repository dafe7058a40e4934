/** The page: what PLEG knows beside what the runtime has, buttons, and the trace as it comes. */
export const PAGE_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>kubelab pleg</title>
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body>
<header>
<h1>PLEG</h1>
<p id="runtime">connecting</p>
<p id="health" role="status"></p>
</header>
<main>
<section aria-labelledby="pods-title">
<h2 id="pods-title">Pods</h2>
<div class="scroll"><table>
<thead><tr><th>pod</th><th>container</th><th>runtime has</th><th>PLEG knows</th><th>do</th></tr></thead>
<tbody id="pods"></tbody>
</table></div>
<p id="counts"></p>
<div id="whole" class="buttons"></div>
<p id="faults"></p>
</section>
<section aria-labelledby="trace-title">
<h2 id="trace-title">What happens</h2>
<ol id="facts" aria-live="polite"></ol>
</section>
</main>
</body>
</html>
`;

export const PAGE_CSS = `
:root { color-scheme: light dark; --line: #8884; --bad: #c62828; --good: #2e7d32; --news: #f9a82540; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; padding: 1rem; max-width: 90rem; }
header { display: flex; flex-wrap: wrap; gap: 0 1.5rem; align-items: baseline; }
h1 { margin: 0; font-size: 1.4rem; }
h2 { font-size: 1.1rem; margin: 1rem 0 0.5rem; }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(34rem, 100%), 1fr)); gap: 0 2rem; }
section { min-width: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem 0.3rem 0; border-bottom: 1px solid var(--line); }
td.differs { background: var(--news); }
.cache { display: block; opacity: 0.75; font-size: 0.85rem; }
.id, #facts { font: 13px/1.45 ui-monospace, monospace; }
.buttons { display: flex; flex-wrap: wrap; gap: 0.3rem; }
button { font: inherit; font-size: 0.85rem; padding: 0.15rem 0.5rem; cursor: pointer; }
.healthy { color: var(--good); } .unhealthy { color: var(--bad); font-weight: 600; }
#faults { color: var(--bad); }
#facts { list-style: none; margin: 0; padding: 0; max-height: 75vh; overflow: auto; }
#facts li { white-space: pre-wrap; overflow-wrap: anywhere; border-bottom: 1px solid var(--line); padding: 0.15rem 0; }
#facts li.error { color: var(--bad); } #facts li.step { font-weight: 600; }
`;

/** Texts from the runtime only ever become text nodes. */
export const PAGE_JS = `
const el = (id) => document.getElementById(id);
const make = (tag, text, cls) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (cls) node.className = cls;
  return node;
};
let actions = [];
async function act(id, target) {
  const query = target === undefined ? "" : "?target=" + encodeURIComponent(target);
  const answer = await fetch("/actions/" + encodeURIComponent(id) + query, { method: "POST" });
  if (!answer.ok) addFact({ kind: "error", lines: [(await answer.json()).error] });
}
function buttonsFor(kind, target) {
  const box = make("div", undefined, "buttons");
  for (const action of actions.filter((one) => one.on === kind)) {
    const button = make("button", action.label);
    button.addEventListener("click", () => act(action.id, target));
    box.append(button);
  }
  return box;
}
function row(pod, entry, first) {
  const tr = make("tr");
  const name = make("td", first ? pod.name : "");
  if (first) name.append(make("span", "cache: " + pod.cache, "cache"));
  const what = make("td", entry.name + " ");
  what.append(make("span", entry.id.slice(0, 13), "id"));
  const differs = entry.actual !== null && entry.actual !== entry.known;
  tr.append(name, what, make("td", entry.actual ?? "not asked"), make("td", entry.known, differs ? "differs" : ""));
  const todo = make("td");
  if (entry.actual !== null && entry.actual !== "removed") todo.append(buttonsFor(entry.kind, entry.id));
  tr.append(todo);
  return tr;
}
function show(state) {
  actions = state.actions;
  el("runtime").textContent = state.runtime;
  el("health").textContent = state.health;
  el("health").className = state.healthy ? "healthy" : "unhealthy";
  const rows = state.pods.flatMap((pod) => pod.entries.map((entry, i) => row(pod, entry, i === 0)));
  el("pods").replaceChildren(...rows);
  const told = Object.entries(state.summary.events).map(([type, count]) => count + " " + type).join(", ") || "none";
  el("counts").textContent = state.summary.relists + " relists, " + state.summary.failedRelists + " failed, " +
    state.summary.inspections + " inspections; events: " + told +
    (state.omittedPods > 0 ? "; " + state.omittedPods + " more pods are not shown" : "");
  el("whole").replaceChildren(buttonsFor("runtime"));
  el("faults").textContent = state.faults.join("; ");
}
function addFact({ kind, lines }) {
  const list = el("facts");
  list.prepend(make("li", lines.join("\\n"), kind));
  while (list.children.length > 400) list.lastChild.remove();
}
const events = new EventSource("/events");
events.addEventListener("open", () => el("facts").replaceChildren());
events.addEventListener("fact", (event) => addFact(JSON.parse(event.data)));
events.addEventListener("state", (event) => show(JSON.parse(event.data)));
events.addEventListener("error", () => {
  el("health").textContent = "kubelab pleg has ended, or cannot be reached";
  el("health").className = "unhealthy";
});
`;
