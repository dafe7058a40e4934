import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { KubeletObserver } from "../types/observer.js";
import { podText } from "../types/pod-update.js";

/** Words the facts about manifests in files. */
export class FileObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/config/file.go";
  /** the problem of each bad file, so that it is reported once and not every 20 s; upstream logs it at each attempt */
  readonly #problems = new Map<string, string>();

  badFiles(): Set<string> {
    return new Set(this.#problems.keys());
  }

  /** Its next problem is a new one. */
  usable(file: string): void {
    this.#problems.delete(file);
  }

  fileGone(file: string): void {
    this.decision(`end the static pod of ${file}`, "the file is gone", "consumeWatchEvent");
  }

  nameTaken(pod: V1Pod, file: string, other: string): void {
    const why = `${other} has a pod of the same name; the file that was read last counts`;
    this.decision(`take ${podText(pod)} from ${file}`, why, "extractFromFile");
  }

  fileUnusable(file: string, why: string): void {
    const hint = "The file is left out until it can be used; other files are not affected.";
    this.#problem(file, `can't process config file ${JSON.stringify(file)}: ${why}`, hint);
  }

  pathUnreadable(path: string, why = "path does not exist, ignoring"): void {
    const hint = "The kubelet retries and reads the manifests as soon as it can.";
    this.#problem(path, `Unable to read config path ${JSON.stringify(path)}: ${why}`, hint);
  }

  #problem(file: string, message: string, hint: string): void {
    if (this.#problems.get(file) === message) return;
    this.#problems.set(file, message);
    this.error(message, { hint, level: 1 });
  }
}
