import type { Say } from "../../../util/i18n/catalogue.js";

/** The type of an argument: `text`, `number`, `flag`; a final `!` marks it as required. */
type ArgumentKind = "text" | "text!" | "number" | "number!" | "flag";

/** The affected node; optional if the lab has one node. */
const NODE = { node: "text" } as const;
/** The newest container of a pod, or the named one. */
const CONTAINER = { ...NODE, pod: "text!", container: "text" } as const;

/** The injections by name, with their arguments. Injections on nodes need `nodes:`. */
const INJECTIONS: Readonly<Record<string, Readonly<Record<string, ArgumentKind>>>> = {
  /** waits `minutes` of the lab's clock */
  "time-passes": { minutes: "number!" },
  /** sets the speed of the lab's clock */
  speed: { factor: "number!" },
  /** stops the kubelet; `power` also ends its containers */
  "node-stop": { ...NODE, power: "flag" },
  /** starts the kubelet again; `unattended`: does not wait for its registration */
  "node-start": { ...NODE, unattended: "flag" },
  /** sets NetworkReady or RuntimeReady to false with `message`; without it, to true */
  "runtime-condition": { ...NODE, condition: "text!", message: "text" },
  /** makes calls of one kind (`ListContainers`, `*`) hang, wait or fail; with only `rpc`, restores them */
  "runtime-fault": {
    ...NODE,
    rpc: "text!",
    hangs: "flag",
    delayMs: "number",
    code: "text",
    message: "text",
    count: "number",
  },
  "kill-container": { ...CONTAINER, exitCode: "number", signal: "text", oom: "flag" },
  /** without the kubelet; `silently`: without an event */
  "remove-container": { ...CONTAINER, silently: "flag" },
  "sandbox-not-ready": { ...NODE, pod: "text!" },
  /**
   * fails pulls of images whose name contains `image`: not-found, denied, unreachable, rate-limited; without `how`,
   * restores them
   */
  "pull-fault": { ...NODE, image: "text!", how: "text" },
  /** sets the duration of a pull, in ms of the lab's clock */
  "pull-time": { ...NODE, ms: "number!" },
  /** drops container events, or only the next `count`; `count: 0` restores them */
  "drop-events": { ...NODE, count: "number" },
};

/** The problems of an injection. Variables have no values yet, so a text with a variable counts as a number. */
export function injectionProblems(name: string, given: Readonly<Record<string, unknown>>, say: Say): readonly string[] {
  const wanted = INJECTIONS[name];
  if (wanted === undefined) {
    return [say("injectUnknown", { name, names: Object.keys(INJECTIONS).join(", ") })];
  }
  const problems: string[] = [];
  for (const [key, kind] of Object.entries(wanted)) {
    const value = given[key];
    if (value === undefined && kind.endsWith("!")) problems.push(say("injectNeeds", { name, key }));
    if (value !== undefined && !fits(value, kind)) {
      problems.push(say("injectExpected", { name, key, value: JSON.stringify(value), kind: kind.replace("!", "") }));
    }
  }
  for (const key of Object.keys(given)) {
    if (wanted[key] === undefined) {
      problems.push(say("injectTakesNo", { name, key, names: Object.keys(wanted).join(", ") }));
    }
  }
  return problems;
}

function fits(value: unknown, kind: ArgumentKind): boolean {
  if (kind === "flag") return typeof value === "boolean";
  if (kind.startsWith("number")) return Number.isFinite(Number(value)) || String(value).includes("{{");
  return typeof value === "string";
}
