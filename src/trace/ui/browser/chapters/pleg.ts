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
}

/** The most containers that fit, besides those about which PLEG errs. */
const MAX_ROWS = 12;

/** PLEG: what the runtime has and what PLEG knows, which differ until the next relist. */
export const pleg: Chapter<Relists> = {
  id: "pleg",
  title: "PLEG",
  commands: ["pleg"],
  read(model, event, bodies = "") {
    const isTable = event.kind === "table" && isRelist(event);
    if (isTable || (event.kind === "step" && funcIn(event, "pkg/kubelet/pleg/generic.go") === "relist"))
      return { ...model, lastMs: event.atMs, beganMs: undefined };
    if (event.kind === "decision") {
      const threshold = event.constants?.find(({ name }) => /relistThreshold$/i.test(name))?.value;
      if (threshold === undefined) return model;
      return { ...model, thresholdMs: Number.parseFloat(threshold) * (threshold.includes("min") ? 60_000 : 1000) };
    }
    if (event.kind !== "rpc" || event.actor !== "kubelet" || event.method !== "ListPodSandbox") return model;
    // A relist lists all sandboxes first, because its time has come. Other lists have a cause, or a filter.
    const isRelists = event.causedBy === undefined && event.pod === undefined && bodies.includes('"filter":{}');
    return isRelists && model?.beganMs === undefined ? { ...model, beganMs: event.atMs - event.durationMs } : model;
  },
  draw(now = {}, _, { nowMs, cluster, ever }) {
    const { lastMs, beganMs, thresholdMs } = now;
    const ago = (ms: number) => ((nowMs - ms) / 1000).toFixed(1);
    const blocks: Block[] = [
      lastMs === undefined
        ? { kind: "line", text: say("no relist yet"), tone: "ahead" }
        : { kind: "line", text: say("last relist {1} s ago", ago(lastMs)), tone: "done" },
    ];
    if (lastMs !== undefined && thresholdMs !== undefined) {
      const text = say("{1} s without a relist, and the node is not Ready", thresholdMs / 1000);
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
        const known = isLate ? `≠ ${pleg ?? say("nothing")}: ${say("until the next relist")}` : (pleg ?? "–");
        const tone = isLate ? "now" : runtime === undefined && pleg === undefined ? "ahead" : "done";
        return [{ tone, cells: [`${name}/${container}`, runtime ?? "–", known] }];
      }),
    );
    const columns = [say("container"), say("the runtime has"), say("PLEG knows")];
    return [...blocks, { kind: "table", columns, rows: rows.filter(({ tone }, i) => i < MAX_ROWS || tone === "now") }];
  },
};
