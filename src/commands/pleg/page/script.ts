/**
 * What runs in the page. Texts from the runtime only ever become text nodes. Rows and buttons stay what they are while their
 * texts change: one that is replaced every second cannot be clicked or keep the focus.
 */
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
/** Children of a parent by key: those that are there stay, what is gone goes, in the given order. */
function keyed(parent, items, keyOf, create, update) {
  const before = new Map([...parent.children].filter((node) => node.dataset.key).map((node) => [node.dataset.key, node]));
  let last = [...parent.children].filter((node) => !node.dataset.key).at(-1) ?? null;
  for (const item of items) {
    const key = keyOf(item);
    const node = before.get(key) ?? create(item);
    before.delete(key);
    node.dataset.key = key;
    update(node, item);
    const place = last === null ? parent.firstChild : last.nextSibling;
    if (node !== place) parent.insertBefore(node, place);
    last = node;
  }
  for (const node of before.values()) node.remove();
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
events.addEventListener("error", () => set(el("health"), "kubelab pleg has ended, or cannot be reached", "unhealthy"));
`;
