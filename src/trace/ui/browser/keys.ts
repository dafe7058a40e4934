import type { PageState } from "./state.js";

const PAGE_ROWS = 12;
/** Where keys mean something else. */
const OWN_KEYS = "input, select, textarea";
const PRESSED_BY_KEYS = "summary, button, a";

/** Handles the page's keys; see the footer. */
export function handleKeys(state: PageState, event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (event.key === "Escape" && !hasOwnMeaning(state, "Escape")) {
    leave(state);
    return;
  }
  if (target.closest(OWN_KEYS) !== null) return;
  if (/^(?:Enter| )$/.test(event.key) && target.closest(PRESSED_BY_KEYS) !== null) return;
  const act = actionFor(state, event.key, target.closest(".side") === null);
  if (act === undefined) return;
  event.preventDefault();
  act();
}

/** Whether the command's window has a key of its own for a letter of the page. */
export function hasOwnMeaning(state: PageState, key: string): boolean {
  return state.windowKeys.value.some((one) => one.key === key);
}

/** @param isList false outside the list, where keys scroll */
function actionFor(state: PageState, pressed: string, isList: boolean): (() => void) | undefined {
  // The keys that a live page shows are those of its command; the page's own letters then need Shift.
  if (hasOwnMeaning(state, pressed)) return () => state.press(pressed);
  const key = /^[A-Z]$/.test(pressed) ? pressed.toLowerCase() : pressed;
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
      return () => state.toCause();
    case "ArrowRight":
      return () => state.toEffect();
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

const STEP_MS = 1600;

/** Selects the next row every `STEP_MS`, at the chosen speed, until the end, or until `isPlaying` is false. */
export function play(state: PageState): void {
  state.follow(false);
  let lastMs: number | undefined;
  const frame = (nowMs: number) => {
    if (!state.isPlaying.value) return;
    lastMs ??= nowMs;
    if (nowMs - lastMs >= STEP_MS / state.speed.value) {
      lastMs = nowMs;
      if (!state.move(1)) state.isPlaying.value = false;
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}
