import type { Level, Trace } from "../../trace/trace.js";
import type { Container } from "./container.js";
import { Listeners } from "./listeners.js";
import type { Sandbox } from "./sandbox.js";

/** Something in the runtime is another than before. */
export interface RuntimeChange {
  readonly kind: "sandbox" | "container" | "image" | "runtime";
  /** a sandbox's or container's ID, an image's name, a condition's type */
  readonly id: string;
  /** `default/web` for sandboxes and containers */
  readonly pod?: string;
  /** the container's name */
  readonly name?: string;
  readonly from: string;
  /** `exited (137, OOMKilled)`, `gone` */
  readonly to: string;
}

const CAPACITY = 10_000;

/** Tells the trace, and whoever watches, what changes. */
export class Changes {
  readonly #listeners = new Listeners<RuntimeChange>(CAPACITY);
  #isClosed = false;

  constructor(
    readonly trace: Trace,
    readonly level: Level,
  ) {}

  sandbox(sandbox: Sandbox, from: string, to: string): void {
    const { sandboxId: id, podName: pod } = sandbox;
    this.#report({ kind: "sandbox", id, pod, from, to }, pod, "sandbox");
  }

  container(container: Container, from: string, to: string): void {
    const { sandbox, metadata, containerId: id } = container;
    const { podName: pod } = sandbox;
    this.#report({ kind: "container", id, pod, name: metadata.name, from, to }, `${pod}/${metadata.name}`, "container");
  }

  image(name: string, from: string, to: string): void {
    this.#report({ kind: "image", id: name, from, to }, name, "image");
  }

  condition(type: string, from: string, to: string): void {
    this.#report({ kind: "runtime", id: type, from, to }, "runtime", type);
  }

  #report(change: RuntimeChange, subject: string, what: string): void {
    if (this.#isClosed) return;
    const { from, to } = change;
    this.trace.emit({ kind: "state", subject, what, from, to }, { actor: "runtime", level: this.level });
    this.#listeners.tell(change);
  }

  /** Changes from now on, until the signal. */
  watch(signal: AbortSignal): AsyncGenerator<RuntimeChange> {
    return this.#listeners.listen(signal);
  }

  /** The runtime ends: that its processes end with it is nobody's news. */
  close(): void {
    this.#isClosed = true;
    this.#listeners.close();
  }
}
