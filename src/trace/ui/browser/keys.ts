import type { PageState } from "./state.js";

const PAGE_ROWS = 12;
/** Where keys mean something else. */
const OWN_KEYS = "input, select, textarea, summary, button, a";

/** Handles the page's keys; see the footer. */
export function handleKeys(state: PageState, event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (event.key === "Escape") {
    leave(state);
    return;
  }
  if (target.closest(OWN_KEYS) !== null) return;
  const act = actionFor(state, event.key, target.closest(".side") === null);
  if (act === undefined) return;
  event.preventDefault();
  act();
}

/** @param isList false outside the list, where keys scroll */
function actionFor(state: PageState, key: string, isList: boolean): (() => void) | undefined {
  if (key === "/") return () => document.getElementById("search")?.focus();
  if (key === " ")
    return () => {
      state.isPlaying.value = !state.isPlaying.value;
    };
  if (key === "f" && state.isLive) return () => state.follow(!state.isFollowing.value);
  if (key === "p")
    return () => {
      state.isPictureShown.value = !state.isPictureShown.value;
    };
  if (!isList) return undefined;
  switch (key) {
    case "ArrowDown":
      return () => state.move(1);
    case "ArrowUp":
      return () => state.move(-1);
    case "PageDown":
      return () => state.move(PAGE_ROWS);
    case "PageUp":
      return () => state.move(-PAGE_ROWS);
    case "Home":
      return () => state.move(-state.rows.value.length);
    case "End":
      return () => state.move(state.rows.value.length);
    case "ArrowLeft":
      return () => state.select(state.chain.value.causes.at(-1));
    case "ArrowRight":
      return () => state.select(state.chain.value.effects[0]?.step);
    case "Enter":
      return () => {
        const step = state.selected.value;
        const repeat = step && state.counters.get(step);
        if (repeat !== undefined) state.open(repeat);
      };
    case "c":
      return () => {
        state.isChainOnly.value = !state.isChainOnly.value;
      };
    default:
      return undefined;
  }
}

/** Ends one thing at a time: playing, the search, the choice in the picture, the filter by chain. The list gets the focus back. */
function leave(state: PageState): void {
  const filters = document.querySelector<HTMLDetailsElement>(".filters[open]");
  if (filters !== null) filters.open = false;
  else if (state.isPlaying.value) state.isPlaying.value = false;
  else if (state.filter.value.search !== "") state.change({ search: "" });
  else if (state.filter.value.thing !== undefined) state.change({ thing: undefined });
  else state.isChainOnly.value = false;
  document.getElementById("rows")?.focus();
}

const STEP_MS = 800;

/** Selects the next row every `STEP_MS` until the end, or until `isPlaying` is false. */
export function play(state: PageState): void {
  state.follow(false);
  let lastMs: number | undefined;
  const frame = (nowMs: number) => {
    if (!state.isPlaying.value) return;
    lastMs ??= nowMs;
    if (nowMs - lastMs >= STEP_MS) {
      lastMs = nowMs;
      if (!state.move(1)) state.isPlaying.value = false;
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}
