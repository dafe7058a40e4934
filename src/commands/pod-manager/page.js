import { el, follow, keyed, make, set } from "/live.js";

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
  set(kind, pod.kind === "static" ? `static (${pod.source})` : pod.kind);
  set(uid, pod.uid, "uid");
  const none = pod.kind === "static" ? "none" : "";
  set(mirror, pod.mirrorUid === null ? none : pod.mirrorUid + (pod.isMirrorUpToDate ? "" : " (old)"), "uid");
  set(phase, pod.phase, `phase ${pod.phase}`);
}
function show(state) {
  set(el("node"), `of node ${state.node}`);
  set(el("health"), "");
  keyed(el("pods"), state.pods, (pod) => pod.uid, makeRow, updateRow);
  const statics = state.pods.filter((pod) => pod.kind === "static").length;
  const more = state.omittedPods > 0 ? `; ${state.omittedPods} more pods are not shown` : "";
  set(el("counts"), `${state.pods.length} pods, ${statics} of them static; ${state.mirrorPods} mirror pods${more}`);
}

follow("kubelab pod-manager", show);
