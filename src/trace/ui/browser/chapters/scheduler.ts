import { say } from "../language.js";
import { type Block, type Chapter, funcIn, lastWord, type Row } from "./chapter.js";

/** One cycle of the scheduler. */
interface Cycle {
  /** `default/web goes to node-1` */
  readonly what: string;
  readonly columns: readonly string[];
  /** node, what filtered it out, its scores, their sum */
  readonly rows: readonly (readonly string[])[];
}

/** The scheduler: filters and scores of each node. */
export const scheduler: Chapter<Cycle> = {
  id: "scheduler",
  title: "Scheduler",
  commands: [],
  isAbout: ({ actor }) => actor === "scheduler",
  read(model, event) {
    const isCycle = event.kind === "decision" && funcIn(event, "schedule_one.go") === "schedulePod";
    return isCycle && event.compared !== undefined ? { what: event.what, ...event.compared } : model;
  },
  draw(now, ever) {
    const { what, columns, rows } = now ?? ever;
    const chosen = now === undefined ? undefined : lastWord(what);
    const filters = (columns[1] ?? "").split(" ");
    const most = Math.max(...rows.map((row) => Number(row[columns.length - 1] ?? 0)), 1);
    const rowOf = ([node = "", filtered = "", ...numbers]: readonly string[]): Row => {
      if (now === undefined) return { tone: "ahead", cells: [node] };
      if (filtered !== "") return { tone: "bad", cells: [node, `✕ ${filtered}`] };
      const total = numbers.pop();
      const points = numbers.flatMap((one, i) => (one === "0" ? [] : [`${columns[i + 2]} ${one}`])).join(" + ");
      const score = total === undefined ? [] : [{ text: total, share: Number(total) / most }, points];
      const name = node === chosen ? `➜ ${node}` : node;
      return { tone: node === chosen ? "now" : "done", cells: [name, `✓ ${say("passed")}`, ...score] };
    };
    const tone = rows.some(([node]) => node === chosen) ? "now" : "bad";
    const none: Block = { kind: "line", text: say("no pod was scheduled yet"), tone: "ahead" };
    const names = [say("node"), say("{1} filters", filters.length), say("score"), ""];
    return [
      now === undefined ? none : { kind: "line", text: what, tone },
      { kind: "table", columns: names, rows: rows.map(rowOf) },
      { kind: "line", text: "", sub: say("The filters, in their order: {1}", filters.join(", ")), tone: "done" },
    ];
  },
};
