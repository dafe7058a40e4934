import { effect } from "@preact/signals";
import type { PageState, View } from "../state.js";

/** The address changes when nothing else has for this long. */
const QUIET_MS = 150;
const VIEWS: readonly string[] = ["story", "requests", "all"];

/** The part of the address after `#`: step, view, filter and zoom. What is as on every page is left out. */
function addressOf(state: PageState): string {
  const { search, pod } = state.filter.value;
  const { k, x } = state.zoom.value;
  const parts = {
    view: state.view.value,
    story: state.plotTitle.value,
    step: state.selected.value?.event.id,
    search: search || undefined,
    pod,
    chain: state.isChainOnly.value ? "1" : undefined,
    zoom: k === 1 ? undefined : `${k.toFixed(2)},${x.toFixed(0)}`,
  };
  return new URLSearchParams(
    Object.entries(parts).filter((part): part is [string, string] => part[1] !== undefined),
  ).toString();
}

/** Shows what an address says, as far as the trace has it. */
function goTo(state: PageState, hash: string): void {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const view = parts.get("view") ?? "";
  if (VIEWS.includes(view) && (view !== "story" || state.plot.value !== undefined)) state.view.value = view as View;
  state.plotTitle.value = parts.get("story") ?? undefined;
  state.change({ search: parts.get("search") ?? "", pod: parts.get("pod") ?? undefined });
  const id = parts.get("step") ?? "";
  const step = state.story.get(id);
  state.select(step);
  state.missing.value = step === undefined ? id : "";
  state.isChainOnly.value = parts.get("chain") === "1";
  const [k = 1, x = 0] = (parts.get("zoom") ?? "").split(",").map(Number);
  if (k > 1 && Number.isFinite(k) && Number.isFinite(x)) state.zoom.value = { k, x };
}

/** Keeps the address of a file's page up to date, so that it can be shared. */
export function keepAddress(state: PageState): void {
  if (location.hash !== "") goTo(state, location.hash);
  // The page may have replaced the address before it hears of the change.
  addEventListener("hashchange", ({ newURL }) => goTo(state, new URL(newURL).hash));
  let dueMs = 0;
  let isWaiting = false;
  const frame = (nowMs: number) => {
    isWaiting = nowMs < dueMs;
    if (isWaiting) requestAnimationFrame(frame);
    else history.replaceState(history.state, "", `#${addressOf(state)}`);
  };
  effect(() => {
    addressOf(state);
    // Browsers limit how often an address changes.
    dueMs = performance.now() + QUIET_MS;
    if (!isWaiting) requestAnimationFrame(frame);
    isWaiting = true;
  });
}
