/**
 * What runs in each page that follows live, before its own script. Texts only ever become text nodes. Rows and buttons stay
 * what they are while their texts change: one that is replaced every second cannot be clicked or keep the focus.
 */
export const LIVE_JS = `
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
/** Shows each state that comes, and the facts beside it. */
function follow(command, show) {
  const events = new EventSource("/events");
  events.addEventListener("open", () => el("facts").replaceChildren());
  events.addEventListener("fact", (event) => addFact(JSON.parse(event.data)));
  events.addEventListener("state", (event) => show(JSON.parse(event.data)));
  events.addEventListener("error", () => set(el("health"), command + " has ended, or cannot be reached", "unhealthy"));
}
`;
