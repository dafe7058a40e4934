import type { Say } from "../i18n/catalogue.js";

/** What an injection takes: `text`, `number`, `flag`; `!` behind it: it cannot be left out. */
type ArgumentKind = "text" | "text!" | "number" | "number!" | "flag";

/** Which node it happens to; it may be left out where the lab has one. */
const NODE = { node: "text" } as const;
/** The newest container of a pod, or the one that is named. */
const CONTAINER = { ...NODE, pod: "text!", container: "text" } as const;

/** What a definition's `inject` may name, and what its `with` takes. What happens to nodes needs `nodes:`. */
const INJECTIONS: Readonly<Record<string, Readonly<Record<string, ArgumentKind>>>> = {
  /** `minutes` of the lab's clock go by */
  "time-passes": { minutes: "number!" },
  /** time runs so many times as fast from now on */
  speed: { factor: "number!" },
  /** the kubelet falls silent; `power`: its containers end too */
  "node-stop": { ...NODE, power: "flag" },
  /** it comes back */
  "node-start": NODE,
  /** NetworkReady or RuntimeReady is false, and why; without `message`: true again */
  "runtime-condition": { ...NODE, condition: "text!", message: "text" },
  /** calls of one kind (`ListContainers`, `*`) hang, wait or fail; with only `rpc`: as they should be again */
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
  /** behind the kubelet's back; `silently`: without an event */
  "remove-container": { ...CONTAINER, silently: "flag" },
  "sandbox-not-ready": { ...NODE, pod: "text!" },
  /** pulls of images whose name contains `image` fail: not-found, denied, unreachable, rate-limited; without `how`: no more */
  "pull-fault": { ...NODE, image: "text!", how: "text" },
  /** a pull takes so long, in ms of the lab's clock */
  "pull-time": { ...NODE, ms: "number!" },
  /** container events are not sent any more, or not the next `count`; `count: 0`: they are again */
  "drop-events": { ...NODE, count: "number" },
};

/** What is wrong with an injection, in words; none: nothing. Values of variables are not known yet: a text may become a number. */
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
