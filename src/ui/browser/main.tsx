import { effect } from "@preact/signals";
import { render } from "preact";
import { parseFacts } from "../facts.js";
import { App } from "./app.js";
import { handleKeys, play } from "./keys.js";
import { Live } from "./live.js";
import { PrintedList } from "./print.js";
import { PageState } from "./state.js";

// The page of a running command; else the page is a file.
const isLive = document.body.dataset["live"] !== undefined;
const state = new PageState({ isLive });
state.load(parseFacts(document.getElementById("facts")?.textContent ?? ""));

const live = isLive ? new Live(state) : undefined;
live?.connect();

const root = document.getElementById("page");
if (root !== null) render(<App state={state} live={live} />, root);
// After the first frame.
requestAnimationFrame(() =>
  requestAnimationFrame(() => {
    state.isFolding.value = true;
  }),
);
document.addEventListener("keydown", (event) => handleKeys(state, event));
effect(() => {
  if (state.isPlaying.value) play(state);
});

prepareSearch(0);

/** Makes the texts that the first search needs, while there is nothing else to do. */
function prepareSearch(from: number): void {
  // Safari has no idle callbacks: there, the first search takes longer.
  globalThis.requestIdleCallback?.((deadline) => {
    const { story } = state;
    let next = from;
    while (next < story.steps.length && deadline.timeRemaining() > 1) {
      for (const step of story.steps.slice(next, next + 100)) story.textOf(step);
      next += 100;
    }
    if (next < story.steps.length) prepareSearch(next);
  });
}

// The list on the screen holds only the rows in view.
const printed = document.getElementById("printed");
if (printed !== null) {
  addEventListener("beforeprint", () => render(<PrintedList state={state} />, printed));
  addEventListener("afterprint", () => render(null, printed));
}
