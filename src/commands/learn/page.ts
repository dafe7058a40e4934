import { pathToFileURL } from "node:url";
import { openInBrowser } from "../browser.js";
import type { LearnContext } from "./context.js";
import { canAsk } from "./prompt.js";

/** Prints the address of a page. At a terminal, a browser opens it; if that fails, the address is enough. */
export function showPage(learn: LearnContext, stream: "stdout" | "stderr", path: string): void {
  const { env, streams } = learn.context;
  const url = pathToFileURL(path).href;
  streams[stream].write(`${learn.say("pageWritten", { url })}\n`);
  if (canAsk(learn)) openInBrowser(url, env);
}
