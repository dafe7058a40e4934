import { PAGE_CSS as SHARED_CSS } from "../pleg/page/css.js";

/** The page: pods and their mirror pods, live, beside what happens. */
export const PAGE_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>kubelab pod-manager</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body>
<header>
<h1>Pod manager</h1>
<p id="node">connecting</p>
<p id="health" role="status"></p>
</header>
<main>
<section aria-labelledby="pods-title">
<h2 id="pods-title">Pods that should be here</h2>
<table>
<thead><tr><th>pod</th><th>kind</th><th>uid</th><th>mirror pod's uid</th><th>phase</th></tr></thead>
<tbody id="pods"></tbody>
</table>
<p id="counts"></p>
<p>As JSON: <a href="/pods">/pods</a>, <a href="/mirror-pods">/mirror-pods</a>,
<a href="/uid-translations">/uid-translations</a></p>
</section>
<section aria-labelledby="trace-title">
<h2 id="trace-title">What happens, newest first</h2>
<ol id="facts" aria-live="polite"></ol>
</section>
</main>
</body>
</html>
`;

export const PAGE_CSS = `${SHARED_CSS}
td.uid { font-family: ui-monospace, monospace; font-size: 0.82rem; white-space: nowrap; }
td.phase { white-space: nowrap; }
.Running, .Succeeded { color: var(--good); } .Failed { color: var(--bad); }
@media (prefers-color-scheme: dark) { a { color: #8ab4f8; } }
@media (max-width: 40rem) {
  tr.entry td::before { content: attr(data-label) " "; color: var(--dim); font-size: 0.8rem; }
  td.uid { overflow-wrap: anywhere; white-space: normal; }
}
`;

/** What runs in the page. Texts only ever become text nodes; rows stay what they are while their texts change. */
export const PAGE_JS = `
const el = (id) => document.getElementById(id);
const make = (tag, text, cls) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (cls) node.className = cls;
  return node;
};
const set = (node, text, cls) => {
  if (node.textContent !== text) node.textContent = text;
  if (cls !== undefined && node.className !== cls) node.className = cls;
};
const COLUMNS = ["pod", "kind", "uid", "mirror", "phase"];
function makeRow() {
  const tr = make("tr", undefined, "entry");
  for (const name of COLUMNS) {
    const td = make("td");
    td.dataset.label = name;
    tr.append(td);
  }
  return tr;
}
function updateRow(tr, pod) {
  const [name, kind, uid, mirror, phase] = tr.children;
  set(name, pod.pod);
  set(kind, pod.kind === "static" ? "static (" + pod.source + ")" : pod.kind);
  set(uid, pod.uid, "uid");
  const none = pod.kind === "static" ? "none" : "";
  set(mirror, pod.mirrorUid === null ? none : pod.mirrorUid + (pod.isMirrorUpToDate ? "" : " (old)"), "uid");
  set(phase, pod.phase, "phase " + pod.phase);
}
function show(state) {
  set(el("node"), "of node " + state.node);
  set(el("health"), "");
  const rows = new Map([...el("pods").children].map((row) => [row.dataset.key, row]));
  state.pods.forEach((pod, i) => {
    const row = rows.get(pod.uid) ?? makeRow();
    rows.delete(pod.uid);
    row.dataset.key = pod.uid;
    updateRow(row, pod);
    if (el("pods").children[i] !== row) el("pods").insertBefore(row, el("pods").children[i] ?? null);
  });
  for (const row of rows.values()) row.remove();
  const statics = state.pods.filter((pod) => pod.kind === "static").length;
  set(el("counts"), state.pods.length + " pods, " + statics + " of them static; " + state.mirrorPods + " mirror pods" +
    (state.omittedPods > 0 ? "; " + state.omittedPods + " more pods are not shown" : ""));
}
function addFact({ kind, actor, seconds, sign, text, details }) {
  const li = make("li", undefined, kind);
  const what = make("div", undefined, "what");
  what.append(make("div", (sign + " " + text).trim(), "text"));
  if (kind === "table") what.append(make("pre", details.join("\\n")));
  else for (const line of details) what.append(make("div", line, "detail"));
  li.append(make("div", seconds.padStart(8) + " " + actor, "when"), what);
  const list = el("facts");
  list.prepend(li);
  while (list.children.length > 400) list.lastChild.remove();
}
const events = new EventSource("/events");
events.addEventListener("open", () => el("facts").replaceChildren());
events.addEventListener("fact", (event) => addFact(JSON.parse(event.data)));
events.addEventListener("state", (event) => show(JSON.parse(event.data)));
events.addEventListener("error", () => set(el("health"), "kubelab pod-manager has ended, or cannot be reached", "unhealthy"));
`;
