import type { ChalkInstance } from "chalk";
import type { Actor, TraceEvent } from "../events.js";

/** One colour per actor helps the eye; the name works without colour. */
export function actorColour(actor: Actor, chalk: ChalkInstance): ChalkInstance {
  switch (actor) {
    case "user":
      return chalk.white;
    case "kubelet":
      return chalk.cyan;
    case "apiserver":
      return chalk.blue;
    case "controller":
      return chalk.magenta;
    case "scheduler":
      return chalk.yellow;
    case "proxy":
      return chalk.cyanBright;
    case "dns":
      return chalk.blueBright;
    case "runtime":
      return chalk.green;
  }
}

/** The call failed without an answer from the runtime. */
const RUNTIME_GONE = new Set(["Unavailable", "DeadlineExceeded"]);

/** The sign shows the outcome: green for what is good, yellow for warnings, red for failures. */
export function signColour(event: TraceEvent, chalk: ChalkInstance): ChalkInstance {
  switch (event.kind) {
    case "request":
      if (event.status === undefined || event.status >= 500) return chalk.red;
      return event.status >= 400 ? chalk.yellow : chalk.green;
    case "rpc":
      if (event.code === undefined) return chalk.dim;
      return event.code === "OK" ? chalk.green : RUNTIME_GONE.has(event.code) ? chalk.red : chalk.yellow;
    case "event":
      return event.type === "Warning" ? chalk.yellow : chalk.green;
    case "error":
      return chalk.red;
    case "state":
      return isGood(event) ? chalk.green : isBad(event) ? chalk.yellow : chalk.reset;
    case "step":
      return chalk.bold;
    default:
      return chalk.dim;
  }
}

/** Conditions that are good when they are not true. */
const IS_TROUBLE = /Pressure|Unavailable|Problem/;
const GOOD =
  /^(?:running|ready|mounted|healthy|registered|granted|pulled|up|Running|Succeeded|Normal|Success|exit code 0)\b/;
const BAD =
  /^(?:Unknown|Failed|not ready|unhealthy|lost|refused|FullDisruption|exited \([1-9]|exit code [1-9]|taint|\+ )/;

function isGood({ what, to }: TraceEvent & { kind: "state" }): boolean {
  return GOOD.test(to) || new RegExp(`^${IS_TROUBLE.test(what) ? "False" : "True"}\\b`).test(to);
}

function isBad({ what, to }: TraceEvent & { kind: "state" }): boolean {
  return BAD.test(to) || new RegExp(`^${IS_TROUBLE.test(what) ? "True" : "False"}\\b`).test(to);
}
