import type { Constant } from "../../../trace/events.js";
import type { Trace } from "../../../trace/trace.js";
import { isOwnBug, messageOf } from "../../../util/errors.js";
import { KubeletObserver } from "../../types/observer.js";

/** Words the facts about one ConfigMap or Secret that pods reference. */
export class ObjectObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/util/manager/watch_based_manager.go";
  #lastMessage: string | undefined;

  /** @param subject `configmap default/web` */
  constructor(
    trace: Trace,
    readonly subject: string,
  ) {
    super(trace);
  }

  version(from: string, to: string): void {
    const file = "staging/src/k8s.io/client-go/tools/cache/reflector.go";
    this.state(this.subject, "version", to, "watchHandler", { from, file });
  }

  stopsWatching(why: string, constants: readonly Constant[]): void {
    const func = constants.length === 0 ? "Get" : "stopIfIdle";
    this.decision(`stop watching ${this.subject}`, why, func, { level: 2, constants });
  }

  watch(to: "started" | "stopped"): void {
    this.state(this.subject, "watch", to, "startReflector", { level: 2 });
  }

  /** Reported once, and not at each attempt: a right may be missing for long. */
  failed(error: unknown): void {
    const stack = isOwnBug(error) && error instanceof Error ? error.stack : undefined;
    const message = stack ?? messageOf(error);
    if (message === this.#lastMessage) return;
    this.#lastMessage = message;
    const hint = `It is tried again within a minute. Pods that reference the ${this.subject} get the last version read, if any.`;
    this.error(message, { hint });
  }
}
