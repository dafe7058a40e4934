import { livePageFiles } from "../../inspector/page/live-page.js";

const BODY = `
<table id="pods">
<thead><tr><th>container</th><th>runtime has</th><th>PLEG knows</th><th>do to it</th></tr></thead>
</table>
<p id="counts"></p>
<div id="whole" class="buttons"></div>
<p id="faults" role="status"></p>
`;

const CSS = `
tr.pod th { background: var(--soft); padding: 0.3rem 0.6rem; }
td.state { white-space: nowrap; }
.running { color: var(--good); } .exited, .removed { color: var(--bad); }
td.differs { background: var(--news); }
.cache, .id { color: var(--dim); font-size: 0.82rem; font-weight: 400; }
.cache { display: block; }
.id { font-family: ui-monospace, monospace; white-space: nowrap; }
.buttons { display: flex; flex-wrap: wrap; gap: 0.3rem; }
button {
  font: inherit; font-size: 0.8rem; padding: 0.1rem 0.55rem; cursor: pointer; white-space: nowrap;
  color: inherit; background: var(--soft); border: 1px solid var(--line); border-radius: 0.3rem;
}
button:hover { border-color: currentColor; }
#faults { color: var(--bad); }
@media (max-width: 40rem) {
  tr.pod th { display: block; }
  tbody button { padding: 0.3rem 0.7rem; }
}
`;

const SCRIPT = `
async function act(id, target) {
  const query = target === undefined ? "" : "?target=" + encodeURIComponent(target);
  try {
    const answer = await fetch("/actions/" + encodeURIComponent(id) + query, { method: "POST" });
    if (!answer.ok) complain((await answer.json()).error);
  } catch {
    complain("kubelab pleg cannot be reached");
  }
}
function complain(text) {
  addFact({ kind: "error", actor: "page", seconds: "", sign: "", text, details: [] });
}
function buttonsFor(actions, kind, target) {
  const box = make("div", undefined, "buttons");
  for (const action of actions.filter((one) => one.on === kind)) {
    const button = make("button", action.short);
    button.type = "button";
    button.title = action.label;
    button.addEventListener("click", () => act(action.id, target));
    box.append(button);
  }
  return box;
}
function makePod() {
  const body = make("tbody");
  const head = make("tr", undefined, "pod");
  const cell = make("th");
  cell.colSpan = 4;
  cell.scope = "rowgroup";
  cell.append(make("span"), make("span", undefined, "cache"));
  head.append(cell);
  body.append(head);
  return body;
}
function makeEntry(state, entry) {
  const tr = make("tr", undefined, "entry");
  const what = make("td");
  what.append(make("span", entry.name), " ", make("span", entry.id.slice(0, 10), "id"));
  const known = make("td");
  const actual = make("td");
  actual.dataset.label = "runtime has";
  known.dataset.label = "PLEG knows";
  const todo = make("td");
  if (entry.actual !== null) todo.append(buttonsFor(state.actions, entry.kind, entry.id));
  tr.append(what, actual, known, todo);
  return tr;
}
function updateEntry(tr, entry) {
  const [, actual, known, todo] = tr.children;
  const differs = entry.actual !== null && entry.actual !== entry.known;
  set(actual, entry.actual ?? "not asked", "state " + (entry.actual ?? ""));
  set(known, entry.known, "state " + (differs ? "differs " : "") + entry.known.replaceAll(" ", "-"));
  if (todo.firstChild) todo.firstChild.hidden = entry.actual === "removed";
}
function show(state) {
  set(el("runtime"), state.runtime);
  set(el("health"), state.health, state.healthy ? "healthy" : "unhealthy");
  keyed(el("pods"), state.pods, (pod) => "pod " + pod.uid, makePod, (body, pod) => {
    const [name, cache] = body.firstChild.firstChild.children;
    set(name, pod.name);
    set(cache, "cache: " + pod.cache);
    keyed(body, pod.entries, (entry) => entry.id, (entry) => makeEntry(state, entry), updateEntry);
  });
  const told = Object.entries(state.summary.events).map(([type, count]) => count + " " + type).join(", ") || "none";
  set(el("counts"), state.summary.relists + " relists, " + state.summary.failedRelists + " failed, " +
    state.summary.inspections + " inspections; events: " + told +
    (state.omittedPods > 0 ? "; " + state.omittedPods + " more pods are not shown" : ""));
  if (!el("whole").firstChild) el("whole").append(buttonsFor(state.actions, "runtime"));
  set(el("faults"), state.faults.length === 0 ? "" : "Switched on: " + state.faults.join("; "));
}
`;

/** The page: what PLEG knows beside what the runtime has, buttons, and the trace as it comes. */
export const PLEG_PAGE = livePageFiles({
  command: "kubelab pleg",
  title: "PLEG",
  subject: "runtime",
  heading: "Pods",
  body: BODY,
  css: CSS,
  script: SCRIPT,
});
