import { LIFECYCLE } from "../../../story/reasons.js";
import type { LiveRelist } from "../../live-protocol.js";
import { say } from "../language.js";
import { isRelist } from "../words.js";
import { type Block, type Chapter, funcIn, type Row } from "./chapter.js";

/** PLEG's relists. Unix ms. */
interface Relists {
  /** the end of the last one */
  readonly lastMs?: number;
  /** the first call of one that has not ended */
  readonly beganMs?: number | undefined;
  /** without a relist for so long, the node is not Ready */
  readonly thresholdMs?: number;
  /** the relist has compared its lists, and not yet reported what changed */
  readonly isComparing?: boolean;
  /** the end of the last one that failed */
  readonly failedMs?: number;
}

/** Each relist waits for the runtime for some milliseconds. */
const LATE_MS = 1000;

/** The most containers that fit, besides those about which PLEG errs. */
const MAX_ROWS = 12;

/** PLEG: what the runtime has and what PLEG knows, which differ until the next relist. */
export const pleg: Chapter<Relists> = {
  id: "pleg",
  title: "PLEG",
  commands: ["pleg"],
  isAbout: (event) =>
    event.kind === "rpc" || event.actor === "runtime" || (event.kind === "decision" && LIFECYCLE.test(event.what)),
  read(model, event, bodies = "") {
    const isComparing = event.kind === "step" && funcIn(event, "pkg/kubelet/pleg/generic.go") === "relist";
    if (isComparing || (event.kind === "table" && isRelist(event))) {
      return { ...model, lastMs: event.atMs, beganMs: undefined, isComparing };
    }
    if (event.kind === "decision") {
      const threshold = event.constants?.find(({ name }) => /relistThreshold$/i.test(name))?.value;
      if (threshold === undefined) return model;
      return { ...model, thresholdMs: Number.parseFloat(threshold) * (threshold.includes("min") ? 60_000 : 1000) };
    }
    if (event.kind !== "rpc" || event.actor !== "kubelet" || event.method !== "ListPodSandbox") return model;
    // A relist lists all sandboxes first, because its time has come. Other lists have a cause, or a filter.
    const isRelists = event.causedBy === undefined && event.pod === undefined && bodies.includes('"filter":{}');
    const failed = isRelists && event.code !== "OK" ? { failedMs: event.atMs } : {};
    return isRelists && (model?.beganMs === undefined || event.code !== "OK")
      ? { ...model, beganMs: event.atMs - event.durationMs, ...failed }
      : model;
  },
  draw(now = {}, _, { nowMs, cluster, ever, relist }) {
    const { thresholdMs, isComparing = false } = now;
    // A quiet page has no fact of a relist that changed nothing, nor has any page one of a call without an answer.
    const lastMs = relist === undefined ? now.lastMs : relist.lastMs;
    const beganMs = relist === undefined ? beganOf(now, nowMs) : lateOf(relist);
    const ago = (ms: number) => ((nowMs - ms) / 1000).toFixed(1);
    const blocks: Block[] = [
      lastMs === undefined
        ? { kind: "line", text: say("no relist yet"), tone: "ahead" }
        : { kind: "line", text: say("last relist {1} s ago", ago(lastMs)), tone: "done" },
    ];
    if (lastMs !== undefined && thresholdMs !== undefined) {
      const isHealthy = nowMs - lastMs <= thresholdMs;
      const words = isHealthy
        ? "healthy: after {1} s without a relist the node would be NotReady"
        : "not healthy: {1} s without a relist, so the node is NotReady";
      const text = say(words, thresholdMs / 1000);
      blocks.push({ kind: "meter", text, ms: thresholdMs - (nowMs - lastMs), maxMs: thresholdMs });
    }
    if (beganMs !== undefined) {
      const text = say("a relist began {1} s ago and waits for the runtime", ago(beganMs));
      blocks.push({ kind: "line", text, tone: "now" });
    }
    const rows = [...ever.pods.values()].flatMap(({ name, containers }) =>
      [...containers.keys()].flatMap((container): Row[] => {
        // A trace need not have the relist that found it.
        if (containers.get(container)?.states.pleg === undefined) return [];
        const { runtime, pleg } = cluster.pods.get(name)?.containers.get(container)?.states ?? {};
        const isLate = runtime !== undefined && runtime.split(" ", 1)[0] !== pleg;
        const until = say(isComparing ? "this relist finds it" : "until the next relist");
        const known = isLate ? `≠ ${pleg ?? say("nothing")}: ${until}` : (pleg ?? "–");
        const tone = isLate ? "now" : runtime === undefined && pleg === undefined ? "ahead" : "done";
        return [{ tone, cells: [`${name}/${container}`, runtime ?? "–", known] }];
      }),
    );
    const columns = [say("container"), say("the runtime has"), say("PLEG knows")];
    return [...blocks, { kind: "table", columns, rows: rows.filter(({ tone }, i) => i < MAX_ROWS || tone === "now") }];
  },
};

/** When the relist began that waits for the runtime, by the facts; undefined: none waits. */
function beganOf({ failedMs = 0, beganMs }: Relists, nowMs: number): number | undefined {
  return beganMs !== undefined && (failedMs < beganMs || nowMs < failedMs) ? beganMs : undefined;
}

function lateOf({ nowMs, beganMs = nowMs }: LiveRelist): number | undefined {
  return nowMs - beganMs >= LATE_MS ? beganMs : undefined;
}
