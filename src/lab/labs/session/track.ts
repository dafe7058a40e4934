import { defined } from "../../../util/defined.js";
import type { LabSummary } from "../format/library.js";
import type { ProgressStore } from "../progress/progress-store.js";
import { bestResult } from "../progress/result.js";
import type { LabMessage } from "./message.js";

/**
 * Saves a learner's progress in a lab from the lab's messages.
 * @returns resolves when the progress up to now is saved
 */
export function trackProgress(
  store: ProgressStore,
  lab: LabSummary,
): {
  readonly note: (message: LabMessage) => void;
  readonly written: () => Promise<void>;
} {
  const { id } = lab;
  let writing: Promise<void> = Promise.resolve();
  // An answer does not name its step; the step is done right after it.
  let isWrong = false;
  const change = (...args: Parameters<ProgressStore["change"]>) => {
    writing = writing.then(() => store.change(...args));
  };
  const note = (message: LabMessage) => {
    switch (message.kind) {
      case "hint":
        change(id, (before) => before && { ...before, hints: before.hints + 1 });
        break;
      case "shown":
        change(id, (before) => before && { ...before, shown: [...new Set([...(before.shown ?? []), message.step])] });
        break;
      case "answer": {
        isWrong = message.given !== message.right;
        const key = isWrong ? "wrongPredictions" : "rightPredictions";
        change(id, (before) => before && { ...before, [key]: before[key] + 1 });
        break;
      }
      case "done": {
        const wrong = isWrong ? [message.step] : [];
        isWrong = false;
        change(id, (saved) => {
          if (saved === undefined || saved.done.includes(message.step)) return saved;
          const before = wrong.length === 0 ? saved : { ...saved, wrong: [...(saved.wrong ?? []), ...wrong] };
          const done = [...before.done, message.step];
          if (!lab.steps.every((step) => done.includes(step))) return { ...before, done };
          const finished = { ...before, done, finishedAtMs: store.wall.now() };
          return { ...finished, ...defined({ best: bestResult(lab, finished) }) };
        });
        break;
      }
      default:
    }
  };
  return { note, written: () => writing };
}
