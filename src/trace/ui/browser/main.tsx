import { effect } from "@preact/signals";
import { type ComponentChild, render } from "preact";
import { App } from "./app.js";
import { keepAddress } from "./controls/address.js";
import { handleKeys, play } from "./keys.js";
import { language } from "./language.js";
import { PrintedList } from "./list/print.js";
import { Live } from "./live/live.js";
import { readFacts } from "./read-facts.js";
import { PageState } from "./state.js";

// The page of a running command. Otherwise the page is a file, and the browser may still be reading its body.
const isLive = document.documentElement.dataset["live"] !== undefined;
const state = new PageState({ isLive });
const live = isLive ? new Live(state) : undefined;
live?.connect();

readFacts(
  state,
  () => renderAt("page", <App state={state} live={live} />),
  () => {
    if (!isLive) keepAddress(state);
  },
);
document.addEventListener("keydown", (event) => handleKeys(state, event));
effect(() => {
  document.documentElement.lang = language.value;
});
effect(() => {
  if (state.isPlaying.value) play(state);
});

// The list on the screen holds only the rows in view.
addEventListener("beforeprint", () => renderAt("printed", <PrintedList state={state} />));
addEventListener("afterprint", () => renderAt("printed", null));

function renderAt(id: string, content: ComponentChild): void {
  const root = document.getElementById(id);
  if (root !== null) render(content, root);
}
