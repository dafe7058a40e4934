import { join } from "node:path";
import { replaceFileSync } from "../../../util/os/files.js";
import { socketPathProblem } from "../../../util/os/paths.js";
import type { LabPlace } from "../environment/environment.js";
import type { LabMessage } from "./message.js";

/** The file that shells of a lab read for their prompt: `pleg 7/10 ○`. */
export function promptFile({ programs }: Pick<LabPlace, "programs">): string {
  return join(programs, "prompt");
}

/**
 * Keeps the prompt file up to date with a lab's messages: the step, and for a task whether it is done.
 * @param id the lab's
 * @param unicode false: ASCII only
 */
export function promptNotes(place: LabPlace, id: string, unicode: boolean): (message: LabMessage) => void {
  const [open, done] = unicode ? ["○", "✓"] : ["o", "+"];
  let step = "";
  const write = (mark: string) => {
    try {
      // A shell can read at any moment.
      replaceFileSync(promptFile(place), [id, step, mark].filter((word) => word !== "").join(" "));
    } catch {
      // The lab's folder was removed: its shells have no state to show.
    }
  };
  return (message) => {
    if (message.kind === "step") {
      step = `${message.index}/${message.count}`;
      write(message.type === "check" || message.type === "do" ? open : "");
    } else if (message.kind === "done") write(done);
  };
}

/** The socket through which commands in a lab's shells act on it. @returns undefined if its path is too long */
export function controlSocket({ programs }: Pick<LabPlace, "programs">): string | undefined {
  const path = join(programs, "lab.sock");
  return socketPathProblem(path) === undefined ? path : undefined;
}
