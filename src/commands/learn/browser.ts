import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { isOnPath } from "../../labs/programs.js";
import type { LearnContext } from "./context.js";
import { canAsk } from "./prompt.js";

type Env = Readonly<Record<string, string | undefined>>;

/** @returns the program that opens a page for the user; undefined without a display, as in a container or over SSH */
export function browserProgram(platform: NodeJS.Platform, env: Env): string | undefined {
  const program = platform === "darwin" ? "open" : "xdg-open";
  const isSet = (name: string) => (env[name] ?? "") !== "";
  const hasDisplay = platform === "darwin" ? !isSet("SSH_CONNECTION") : isSet("DISPLAY") || isSet("WAYLAND_DISPLAY");
  return hasDisplay && isOnPath(program, env) ? program : undefined;
}

/** Prints the address of a page. At a terminal, a browser opens it; if that fails, the address is enough. */
export function showPage(learn: LearnContext, stream: "stdout" | "stderr", path: string): void {
  const { env, streams } = learn.context;
  const url = pathToFileURL(path).href;
  streams[stream].write(`${learn.say("pageWritten", { url })}\n`);
  const program = browserProgram(process.platform, env);
  if (program === undefined || !canAsk(learn)) return;
  const child = spawn(program, [url], { stdio: "ignore", detached: true, env: { ...process.env, ...env } });
  child.once("error", () => {});
  child.unref();
}
