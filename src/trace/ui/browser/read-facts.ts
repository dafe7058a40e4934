import { firstLines, parseFacts } from "../facts.js";
import type { PageState } from "./state.js";

/** More than a screen has rows for. */
const FIRST_CHARS = 64 * 1024;

/**
 * Gives the facts of the file to the page. A browser takes longer to read a long file than to draw its first rows, so
 * they are shown while it still reads.
 * @param draw draws the page, once it has something to show
 * @param loaded is called when the page has all facts, before it is drawn with them
 */
export function readFacts(state: PageState, draw: () => void, loaded: () => void): void {
  const whole = () => {
    state.load(parseFacts(textSoFar()));
    loaded();
    if (!isDrawn) draw();
    afterFrame(() => {
      state.isFolding.value = true;
    });
    prepareSearch(state, 0);
  };
  let isDrawn = false;
  const first = () => {
    if (document.readyState !== "loading") return;
    const text = textSoFar();
    const facts = text.length < FIRST_CHARS ? [] : parseFacts(firstLines(text, FIRST_CHARS));
    if (facts.length === 0) {
      requestAnimationFrame(first);
      return;
    }
    state.preview(facts);
    isDrawn = true;
    draw();
  };
  if (document.readyState === "loading") {
    document.addEventListener("DOMContentLoaded", whole, { once: true });
    first();
  } else whole();
}

function textSoFar(): string {
  return document.getElementById("facts")?.textContent ?? "";
}

function afterFrame(run: () => void): void {
  requestAnimationFrame(() => requestAnimationFrame(run));
}

/** Prepares the texts for the first search while the browser is idle. */
function prepareSearch(state: PageState, from: number): void {
  // Safari has no idle callbacks: there, the first search takes longer.
  globalThis.requestIdleCallback?.((deadline) => {
    const { story } = state;
    let next = from;
    while (next < story.steps.length && deadline.timeRemaining() > 1) {
      for (const step of story.steps.slice(next, next + 100)) story.textOf(step);
      next += 100;
    }
    if (next < story.steps.length) prepareSearch(state, next);
  });
}
