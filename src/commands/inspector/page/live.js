// The part that all inspector pages share. Texts from the server become text nodes only. Rows and buttons are updated in
// place: a button that is replaced every second can neither be clicked nor keep the focus.
export const el = (id) => document.getElementById(id);
export const make = (tag, text, cls) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (cls) node.className = cls;
  return node;
};
export const set = (node, text, cls) => {
  if (node.textContent !== text) node.textContent = text;
  if (cls !== undefined && node.className !== cls) node.className = cls;
};
/** Updates the children of a parent, matched by key: adds new ones, removes those without an item, and keeps the given order. */
export function keyed(parent, items, keyOf, create, update) {
  const before = new Map(
    [...parent.children].filter((node) => node.dataset.key).map((node) => [node.dataset.key, node]),
  );
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
export function addFact({ kind, actor, seconds, sign, text, details }) {
  const li = make("li", undefined, kind);
  const what = make("div", undefined, "what");
  what.append(make("div", `${sign} ${text}`.trim(), "text"));
  if (kind === "table") what.append(make("pre", details.join("\n")));
  else for (const line of details) what.append(make("div", line, "detail"));
  li.append(make("div", `${seconds.padStart(8)} ${actor}`, "when"), what);
  const list = el("facts");
  list.prepend(li);
  while (list.children.length > 400) list.lastChild.remove();
}
/** Shows each state and each fact that the server sends. */
export function follow(command, show) {
  const events = new EventSource("/events");
  events.addEventListener("open", () => el("facts").replaceChildren());
  events.addEventListener("fact", (event) => addFact(JSON.parse(event.data)));
  events.addEventListener("state", (event) => show(JSON.parse(event.data)));
  events.addEventListener("error", () => set(el("health"), `${command} has ended, or cannot be reached`, "unhealthy"));
}
