import { addFact, el, follow, keyed, make, set } from "/live.js";

async function act(id, target) {
  const query = target === undefined ? "" : `?target=${encodeURIComponent(target)}`;
  try {
    const answer = await fetch(`/actions/${encodeURIComponent(id)}${query}`, { method: "POST" });
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
  set(actual, entry.actual ?? "not asked", `state ${entry.actual ?? ""}`);
  set(known, entry.known, `state ${differs ? "differs " : ""}${entry.known.replaceAll(" ", "-")}`);
  if (todo.firstChild) todo.firstChild.hidden = entry.actual === "removed";
}
function show(state) {
  set(el("runtime"), state.runtime);
  set(el("health"), state.health, state.healthy ? "healthy" : "unhealthy");
  keyed(
    el("pods"),
    state.pods,
    (pod) => `pod ${pod.uid}`,
    makePod,
    (body, pod) => {
      const [name, cache] = body.firstChild.firstChild.children;
      set(name, pod.name);
      set(cache, `cache: ${pod.cache}`);
      keyed(
        body,
        pod.entries,
        (entry) => entry.id,
        (entry) => makeEntry(state, entry),
        updateEntry,
      );
    },
  );
  const { relists, failedRelists, inspections, events } = state.summary;
  const counts = Object.entries(events).map(([type, count]) => `${count} ${type}`);
  const more = state.omittedPods > 0 ? `; ${state.omittedPods} more pods are not shown` : "";
  const calls = `${relists} relists, ${failedRelists} failed, ${inspections} inspections`;
  set(el("counts"), `${calls}; events: ${counts.join(", ") || "none"}${more}`);
  if (!el("whole").firstChild) el("whole").append(buttonsFor(state.actions, "runtime"));
  set(el("faults"), state.faults.length === 0 ? "" : `Switched on: ${state.faults.join("; ")}`);
}

follow("kubelab pleg", show);
