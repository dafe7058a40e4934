import type { TraceEvent } from "../events.js";
import { isKey, type Role, roleInLife } from "./roles.js";
import { storyStep } from "./step.js";
import type { StoryRule } from "./teller.js";

/** The steps of a command that follow one another, and what controllers decide on the way. */
export function chapterRule(title: string): StoryRule {
  let hasBegun = false;
  return {
    begins: ({ kind, causedBy }) => {
      if (hasBegun || kind !== "step" || causedBy !== undefined) return undefined;
      hasBegun = true;
      return { title };
    },
    roleOf: (event) => (isDecided(event) || (event.kind === "step" && event.level <= 1) ? "step" : undefined),
  };
}

function isDecided({ kind, level, actor }: TraceEvent): boolean {
  return kind === "decision" && actor === "controller" && level <= 1;
}

/** A connection through all hops, as the terminal shows them. */
export const HOPS_RULE: StoryRule = {
  begins: (event) => (event.kind === "step" && event.actor === "user" ? { title: event.title } : undefined),
  roleOf: ({ kind, level }) => (level <= 1 && kind !== "note" && kind !== "frame" ? "step" : undefined),
};

/**
 * The start of a kubelet or of PLEG, until the last key of a window, or what a kubelet observed, and what followed: the window's own topic
 * included.
 * @param start the title of the first story
 */
export function keysRule(start: string): StoryRule {
  let phase: "before" | "start" | "keys" = "before";
  return {
    begins: (event) => {
      const title = actionOf(event);
      if (title !== undefined) {
        phase = "keys";
        return { title };
      }
      if (phase !== "before" || !isStart(event)) return undefined;
      phase = "start";
      return { title: start };
    },
    joins: (event) => phase === "start" && event.actor === "kubelet",
    roleOf: (event) => {
      if (phase === "start" && event.pod === undefined) return roleInStart(event);
      return event.kind === "decision" && event.level <= 1 ? "step" : roleInLife(event);
    },
  };
}

/** What a key does, or what a kubelet observed. */
function actionOf(event: TraceEvent): string | undefined {
  if (event.kind === "step" && isKey(event)) return event.title;
  return event.kind === "decision" && event.origin === "observed" ? event.what : undefined;
}

/** In a window, how the node joined is no topic. */
function isStart({ kind, actor, level, causedBy, ...event }: TraceEvent): boolean {
  if (kind !== "step" || actor !== "kubelet" || causedBy !== undefined) return false;
  return level <= 1 || ("upstream" in event && event.upstream?.func === "Run");
}

const REPEATED = new Set(["relist", "InitializeTLS", "sync"]);

/** The steps of a start, and the first pods that each source has. */
function roleInStart(event: TraceEvent): Role {
  const func = "upstream" in event ? event.upstream?.func : undefined;
  if (event.kind === "step") return event.level <= 2 && !REPEATED.has(func ?? "") ? "step" : undefined;
  return isDecided(event) || (event.kind === "decision" && func === "Merge") ? "step" : undefined;
}

/** The last write of a client and what followed. */
export const WRITES_RULE: StoryRule = {
  begins: (event) =>
    event.kind === "request" && event.actor === "user" && event.causedBy === undefined && roleInLife(event) === "step"
      ? { title: `a client ${storyStep(event, undefined).text}` }
      : undefined,
};

/**
 * A lab: for each of its steps, what its commands and its clients' writes led to.
 * @param step its title when a fact is reported; undefined: none is shown
 */
export function labRule(step: () => string | undefined): StoryRule {
  let told: string | undefined;
  return {
    begins: (event) => {
      const title = step();
      if (title === undefined || title === told || !isLearners(event)) return undefined;
      told = title;
      return { title, isAtOnce: true };
    },
    joins: (event) => told !== undefined && told === step() && isLearners(event),
    roleOf: (event) => {
      const isTold = (event.kind === "decision" || event.kind === "step") && event.level <= 1;
      return isTold ? "step" : roleInLife(event);
    },
  };
}

/** A command of a lab, or a write of a client that it started. */
function isLearners(event: TraceEvent): boolean {
  if (event.causedBy !== undefined) return false;
  if (event.kind === "step") return event.actor === "user" && event.title.startsWith("$ ");
  return event.kind === "request" && roleInLife(event) === "step";
}

const SILENCE = "monitorNodeHealth";

/** Whether a controller decided about another node, or about all. */
function isOfAnother(what: string, nodeName: string): boolean {
  return what.startsWith("stop all ") || ![nodeName, undefined].includes(/\bnode ([^\s:]+)/.exec(what)?.[1]);
}

/** How a node joins; from its silence on, what followed. */
export function leaseRule(nodeName: string): StoryRule {
  const joining = chapterRule(`node ${nodeName} joins`);
  let isSilent = false;
  return {
    begins: (event) => {
      if (event.kind !== "decision" || event.actor !== "kubelet" || event.upstream?.func !== SILENCE)
        return isSilent ? undefined : joining.begins(event);
      isSilent = true;
      return { title: `node ${nodeName} falls silent` };
    },
    roleOf: (event) => {
      if (event.kind === "decision" && isOfAnother(event.what, nodeName)) return undefined;
      if (!isSilent) return joining.roleOf?.(event);
      const isSilence = event.kind === "decision" && event.upstream?.func === SILENCE;
      const isCountdown = event.kind === "note" && event.actor === "controller";
      // An evicted pod is still there: nobody on a silent node ends it.
      const isMarked = event.kind === "state" && event.what === "deletionTimestamp";
      return isSilence || isCountdown || isMarked || isDecided(event) ? "step" : undefined;
    },
  };
}
