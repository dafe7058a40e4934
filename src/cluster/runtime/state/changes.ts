import type { Level, Trace } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";
import type { Container, Sandbox } from "./container.js";
import { Listeners } from "./listeners.js";

/** A state change in the runtime. */
export interface RuntimeChange {
  readonly kind: "sandbox" | "container" | "image" | "runtime";
  /** a sandbox or container ID, an image name, a condition type */
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

/** Reports state changes to the trace and to watchers. */
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

  /** Reports the parts of a new sandbox. */
  made({ podName, ip, config: { dnsConfig } }: Sandbox, image: string): void {
    if (!this.trace.wants(2)) return;
    const address = ip === undefined ? "the node's network" : `address ${ip}, elsewhere from CNI`;
    const servers = dnsConfig?.servers.join(", ") || "none";
    const text = `sandbox of ${podName}: pause image ${image}; name servers of resolv.conf: ${servers}; ${address}`;
    const upstream = { file: "staging/src/k8s.io/cri-api/pkg/apis/runtime/v1/api.proto", func: "RunPodSandbox" };
    const report = () => this.trace.emit({ kind: "note", text, upstream }, { actor: "runtime", level: 2 });
    this.trace.because({ pod: podName }, report);
  }

  /** @returns the id of the fact */
  container(container: Container, from: string, to: string): string | undefined {
    const { sandbox, metadata, containerId: id } = container;
    const { podName: pod } = sandbox;
    return this.#report(
      { kind: "container", id, pod, name: metadata.name, from, to },
      `${pod}/${metadata.name}`,
      "container",
    );
  }

  image(name: string, from: string, to: string): void {
    this.#report({ kind: "image", id: name, from, to }, name, "image");
  }

  condition(type: string, from: string, to: string): void {
    this.#report({ kind: "runtime", id: type, from, to }, "runtime", type);
  }

  #report(change: RuntimeChange, subject: string, what: string): string | undefined {
    if (this.#isClosed) return undefined;
    const { from, to, pod } = change;
    const fact = { kind: "state", subject, what, from, to } as const;
    const report = () => this.trace.emit(fact, { actor: "runtime", level: this.level });
    const { id } = this.trace.because(defined({ pod }), report);
    this.#listeners.tell(change);
    return id;
  }

  /** Changes from now on, until `signal` aborts. */
  watch(signal: AbortSignal): AsyncGenerator<RuntimeChange> {
    return this.#listeners.listen(signal);
  }

  /** Stops reporting: when the runtime ends, the end of its processes is not news. */
  close(): void {
    this.#isClosed = true;
    this.#listeners.close();
  }
}
