import { spawn } from "node:child_process";
import { isOnPath } from "../../lab/labs/environment/programs.js";

type Env = Readonly<Record<string, string | undefined>>;

/** @returns the program that opens a page for the user; undefined without a display, as in a container or over SSH */
export function browserProgram(platform: NodeJS.Platform, env: Env): string | undefined {
  const program = platform === "darwin" ? "open" : "xdg-open";
  const isSet = (name: string) => (env[name] ?? "") !== "";
  const hasDisplay = platform === "darwin" ? !isSet("SSH_CONNECTION") : isSet("DISPLAY") || isSet("WAYLAND_DISPLAY");
  return hasDisplay && isOnPath(program, env) ? program : undefined;
}

/** Opens an address in the user's browser if there is one, and does not wait. Never fails: print the address before. */
export function openInBrowser(url: string, env: Env): void {
  const program = browserProgram(process.platform, env);
  if (program === undefined) return;
  const child = spawn(program, [url], { stdio: "ignore", detached: true, env: { ...process.env, ...env } });
  child.once("error", () => {});
  child.unref();
}
