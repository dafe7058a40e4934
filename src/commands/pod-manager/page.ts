import { livePageFiles } from "../inspector/page/live-page.js";

const BODY = `
<table>
<thead><tr><th>pod</th><th>kind</th><th>uid</th><th>mirror pod's uid</th><th>phase</th></tr></thead>
<tbody id="pods"></tbody>
</table>
<p id="counts"></p>
<p>As JSON: <a href="/pods">/pods</a>, <a href="/mirror-pods">/mirror-pods</a>,
<a href="/uid-translations">/uid-translations</a></p>
`;

const CSS = `
td.uid { font-family: ui-monospace, monospace; font-size: 0.82rem; white-space: nowrap; }
td.phase { white-space: nowrap; }
.Running, .Succeeded { color: var(--good); } .Failed { color: var(--bad); }
@media (prefers-color-scheme: dark) { a { color: #8ab4f8; } }
@media (max-width: 40rem) { td.uid { overflow-wrap: anywhere; white-space: normal; } }
`;

const SCRIPT = `
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
  keyed(el("pods"), state.pods, (pod) => pod.uid, makeRow, updateRow);
  const statics = state.pods.filter((pod) => pod.kind === "static").length;
  set(el("counts"), state.pods.length + " pods, " + statics + " of them static; " + state.mirrorPods + " mirror pods" +
    (state.omittedPods > 0 ? "; " + state.omittedPods + " more pods are not shown" : ""));
}
`;

/** The page: pods and their mirror pods, live, beside what happens. */
export const POD_MANAGER_PAGE = livePageFiles({
  command: "kubelab pod-manager",
  title: "Pod manager",
  subject: "node",
  heading: "Pods that should be here",
  body: BODY,
  css: CSS,
  script: SCRIPT,
});
