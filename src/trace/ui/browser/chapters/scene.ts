import type { TraceEvent } from "../../../events.js";
import { Cluster } from "../picture/cluster.js";
import type { Chapter } from "./chapter.js";
import { CHAPTERS } from "./registry.js";

/** The cluster and the models of the chapters after the facts so far. */
export class Scene {
  readonly cluster = new Cluster();
  /** of the chapters whose facts occurred */
  readonly models = new Map<Chapter, unknown>();
  /** the chapter of the latest fact that is about one */
  latest: Chapter | undefined;
  /** the chapter that the trace's command is about */
  main: Chapter | undefined;

  get count(): number {
    return this.cluster.count;
  }

  add(event: TraceEvent, bodies?: string): void {
    this.cluster.add(event, bodies);
    let about: Chapter | undefined;
    for (const chapter of CHAPTERS) {
      const before = this.models.get(chapter);
      const model = chapter.read(before, event, bodies);
      if (model === before) continue;
      this.models.set(chapter, model);
      about ??= chapter;
    }
    this.latest = about ?? this.latest;
    const { chapter: command = "" } = event;
    if (command !== "") this.main = CHAPTERS.find(({ commands }) => commands.includes(command)) ?? this.main;
  }
}
