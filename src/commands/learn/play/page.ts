import { pathToFileURL } from "node:url";
import { wrap } from "../../../util/text/text-width.js";
import { openInBrowser } from "../../cli/browser.js";
import type { LearnContext } from "../context.js";
import { canAsk } from "./prompt.js";

/** Prints the address of a page. At a terminal, a browser opens it; if that fails, the address is enough. */
export function showPage(learn: LearnContext, stream: "stdout" | "stderr", path: string): void {
  const { env, streams } = learn.context;
  const url = pathToFileURL(path).href;
  const { columns } = streams[stream];
  const text = learn.say("pageWritten", { url });
  // On a terminal the address stays whole, in a line of its own if it is long.
  const lines = columns ? wrap(text, columns) : [text];
  streams[stream].write(`${lines.join("\n")}\n`);
  if (canAsk(learn)) openInBrowser(url, env);
}
