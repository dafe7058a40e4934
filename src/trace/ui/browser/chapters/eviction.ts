import { say } from "../language.js";
import { type Chapter, funcIn, lastWord, type Row } from "./chapter.js";

/** The ranking of the pods of a node that lacks something. */
interface Ranking {
  /** the threshold that is met, and its numbers */
  readonly met: string;
  readonly why: string;
  /** pod, usage, request, priority: who goes first comes first */
  readonly rows: readonly (readonly string[])[];
  /** by pod: `evicted` or `spared` */
  readonly fates: ReadonlyMap<string, string>;
}

const NONE: Ranking = { met: "", why: "", rows: [], fates: new Map() };
const UNITS: Readonly<Record<string, number>> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, k: 1e3, M: 1e6, G: 1e9 };

/** Eviction: the pods in the order in which they go, with the numbers that rank them. */
export const eviction: Chapter<Ranking> = {
  id: "eviction",
  title: "Eviction",
  commands: [],
  read(model, event) {
    const func = funcIn(event, "pkg/kubelet/eviction/eviction_manager.go");
    if (func === undefined) return model;
    const before = model ?? NONE;
    const withFate = (text: string, fate: string) => ({
      ...before,
      fates: new Map(before.fates).set(lastWord(text), fate),
    });
    if (func === "evictPod" && event.kind === "state") return withFate(event.subject, "evicted");
    if (func === "evictPod" && event.kind === "decision") return withFate(event.what, "spared");
    if (func !== "synchronize" || event.kind !== "decision") return model;
    if (event.compared === undefined) return { ...before, met: event.what, why: event.why };
    return { ...before, rows: event.compared.rows };
  },
  draw(now = NONE, ever) {
    const { met, why, rows, fates } = now;
    const all = rows.length > 0 ? rows : ever.rows;
    const most = Math.max(...all.map(([, usage = ""]) => amountOf(usage)), 1);
    const next = rows.find(([pod = ""]) => !fates.has(pod))?.[0];
    const rowOf = ([pod = "", usage = "", request = "", priority = ""]: readonly string[], i: number): Row => {
      if (rows.length === 0) return { tone: "ahead", cells: ["", pod] };
      const isNext = pod === next && ![...fates.values()].includes("evicted");
      const fate = fates.get(pod) ?? (isNext ? "goes first" : "");
      const over = say(amountOf(usage) > amountOf(request) ? "yes" : "no");
      const used = { text: usage || "–", share: amountOf(usage) / most };
      const tone = fate === "evicted" ? "gone" : isNext ? "bad" : "done";
      return { tone, cells: [`${i + 1}.`, pod, used, request, over, priority, fate === "" ? "" : say(fate)] };
    };
    const columns = ["", "pod", "uses", "requests", "exceeds", "priority", ""].map((one) =>
      one === "" ? "" : say(one),
    );
    return [
      met === ""
        ? { kind: "line", text: say("No threshold is met yet."), tone: "ahead" }
        : { kind: "line", text: met, sub: why, tone: "bad" },
      { kind: "table", columns, rows: all.map(rowOf) },
    ];
  },
};

/** `100Mi` in bytes; a number of inodes or processes as it is */
function amountOf(quantity: string): number {
  const [, number = "0", unit = ""] = /^([\d.]+)(\w*)$/.exec(quantity) ?? [];
  return Number(number) * (UNITS[unit] ?? 1);
}
