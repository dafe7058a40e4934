import { effect } from "@preact/signals";
import { render } from "preact";
import { parseFacts } from "../facts.js";
import { App } from "./app.js";
import { handleKeys, play } from "./keys.js";
import { PrintedList } from "./print.js";
import { PageState } from "./state.js";

const state = new PageState();
state.add(parseFacts(document.getElementById("facts")?.textContent ?? ""));

const root = document.getElementById("page");
if (root !== null) render(<App state={state} />, root);
document.addEventListener("keydown", (event) => handleKeys(state, event));
effect(() => {
  if (state.isPlaying.value) play(state);
});

// The list on the screen holds only the rows in view.
const printed = document.getElementById("printed");
if (printed !== null) {
  addEventListener("beforeprint", () => render(<PrintedList state={state} />, printed));
  addEventListener("afterprint", () => render(null, printed));
}
