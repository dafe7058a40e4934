import type { TraceEvent } from "../../../events.js";
import type { LiveRelist } from "../../live-protocol.js";
import type { Cluster } from "../picture/cluster.js";

/** How a part is drawn: it happened, it is where things stand, it has not happened, it failed, it is gone. */
export type Tone = "done" | "now" | "ahead" | "bad" | "gone";

/** One station of a way. */
export interface Mark {
  readonly title: string;
  readonly text?: string | undefined;
  /** an address or an object, as it is written */
  readonly code?: string | undefined;
  readonly tone: Tone;
}

/** A text in a table, with a bar below it: 0 to 1 of the longest. */
export interface Cell {
  readonly text: string;
  readonly share: number;
}

/** A worker, and the place in which work waits for it. */
export interface Slot {
  readonly name: string;
  readonly count: number;
  readonly waiting: string;
  readonly doing: string;
  readonly tone: Tone;
}

/** A row of a table; the last cell of a short one is as wide as those that it lacks. */
export interface Row {
  readonly tone: Tone;
  readonly cells: readonly (string | Cell)[];
}

/** A part of a chapter's picture. */
export type Block =
  | { readonly kind: "line"; readonly text: string; readonly sub?: string; readonly tone: Tone }
  | { readonly kind: "way"; readonly marks: readonly Mark[] }
  | { readonly kind: "slots"; readonly slots: readonly Slot[] }
  | { readonly kind: "meter"; readonly text: string; readonly ms: number; readonly maxMs: number }
  | { readonly kind: "table"; readonly columns: readonly string[]; readonly rows: readonly Row[] };

/** The selected moment. */
export interface At {
  /** Unix ms */
  readonly nowMs: number;
  readonly cluster: Cluster;
  /** everything that appears in the trace */
  readonly ever: Cluster;
  /** the fact that is selected, or the last one before it that is about the chapter; undefined: after all */
  readonly event: TraceEvent | undefined;
  /** at the present of a running command: its kubelet's relists, of which facts know less */
  readonly relist?: LiveRelist | undefined;
}

/** A chapter and its two pure functions: facts become a small model, and a model becomes a picture. */
export interface Chapter<Model = unknown> {
  readonly id: string;
  readonly title: string;
  /** the commands that are about it */
  readonly commands: readonly string[];
  /**
   * Whether the chapter is shown at a step, also if it reads nothing in it. Default: it is not.
   * @param now after the step
   */
  isAbout?(event: TraceEvent, now: Model | undefined): boolean;
  /** @returns the same model for a fact that is not about the chapter */
  read(model: Model | undefined, event: TraceEvent, bodies?: string): Model | undefined;
  /** @param ever after all facts of the trace: what is still to come is drawn as a ghost */
  draw(now: Model | undefined, ever: Model, at: At): readonly Block[];
}

/** A way: of the stations that were reached, the last one is where things stand. A station's own tone wins. */
export function wayOf(
  stations: readonly (Partial<Mark> & { readonly title: string; readonly isReached: boolean })[],
): Block {
  const last = stations.findLastIndex(({ isReached }) => isReached);
  const marks = stations.map(({ isReached, ...mark }, i) => ({
    tone: i === last ? ("now" as const) : isReached ? ("done" as const) : ("ahead" as const),
    ...mark,
  }));
  return { kind: "way", marks };
}

/** The function of upstream's file that a fact mirrors; undefined for a fact of another file. */
export function funcIn(event: TraceEvent, file: string): string | undefined {
  const upstream = "upstream" in event ? event.upstream : undefined;
  return upstream?.file.endsWith(file) === true ? upstream.func : undefined;
}

/** The last word of a sentence, which names an object in each language. */
export function lastWord(text: string): string {
  return text.slice(text.lastIndexOf(" ") + 1);
}
