import type { KubeList } from "../../../src/staging/apimachinery/api/meta.js";
import { asPod, type V1ContainerStatus, type V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import type { KubeClient } from "../../../src/staging/client-go/rest/client.js";

const PATH = "/api/v1/pods";

/**
 * A watcher's view of pods: a line for each changed status.
 *
 * `Running Ready c=running/0`: phase, reason of the pod in brackets, `Ready` when the condition is, `ending` when it was
 * deleted, each container with its state and restart count; `*` marks one that is ready; `gone` at last.
 */
export class PodHistory {
  readonly #lines = new Map<string, string[]>();
  readonly #pods = new Map<string, V1Pod>();
  readonly #stop = new AbortController();
  #wake: () => void = () => {};
  #changed = this.#nextChange();
  #running: Promise<void> = Promise.resolve();

  private constructor(readonly client: KubeClient) {}

  static async follow(client: KubeClient): Promise<PodHistory> {
    const history = new PodHistory(client);
    const list = await client.expect<KubeList>({ method: "GET", path: PATH });
    history.#running = history.#follow(list.metadata.resourceVersion ?? "");
    return history;
  }

  /** Everything that was seen of the pod of that name. */
  lines(name: string): readonly string[] {
    return this.#lines.get(name) ?? [];
  }

  /** For tests with many pods. */
  forget(name: string): void {
    this.#lines.delete(name);
    this.#pods.delete(name);
  }

  pod(name: string): V1Pod {
    const pod = this.#pods.get(name);
    if (pod === undefined) throw new Error(`no pod ${name} was seen`);
    return pod;
  }

  /** Resolves with the next line's index as soon as a line from `from` on matches. */
  async until(name: string, wanted: string | RegExp, from = 0): Promise<number> {
    for (;;) {
      const index = this.lines(name).findIndex((line, i) => {
        return i >= from && (typeof wanted === "string" ? line === wanted : wanted.test(line));
      });
      if (index >= 0) return index + 1;
      await this.#changed;
    }
  }

  /** A server ends each watch some time: it is resumed where it ended. */
  async #follow(from: string): Promise<void> {
    let resourceVersion = from;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      for await (const { type, object } of this.client.watch(PATH, { resourceVersion }, signal)) {
        resourceVersion = object.metadata.resourceVersion ?? resourceVersion;
        const pod = asPod(object);
        if (pod === undefined) throw new Error(`the watch brought ${JSON.stringify(object).slice(0, 200)}`);
        this.#note(pod, type === "DELETED" ? "gone" : lineOf(pod));
      }
    }
  }

  #note(pod: V1Pod, line: string): void {
    const { name } = pod.metadata;
    this.#pods.set(name, pod);
    const lines = this.#lines.get(name) ?? [];
    this.#lines.set(name, lines);
    if (lines.at(-1) === line) return;
    lines.push(line);
    const wake = this.#wake;
    this.#changed = this.#nextChange();
    wake();
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

function lineOf({ metadata, status }: V1Pod): string {
  const { phase = "", reason, conditions, initContainerStatuses, containerStatuses } = status;
  const isReady = (conditions ?? []).some((one) => one.type === "Ready" && one.status === "True");
  return [
    `${phase}${reason === undefined ? "" : `(${reason})`}`,
    ...(metadata.deletionTimestamp ? ["ending"] : []),
    ...(isReady ? ["Ready"] : []),
    ...[...(initContainerStatuses ?? []), ...(containerStatuses ?? [])].map(containerText),
  ].join(" ");
}

function containerText({ name, state, ready, restartCount }: V1ContainerStatus): string {
  const { waiting, terminated, running } = state ?? {};
  let text = "none";
  if (running) text = "running";
  else if (waiting) text = `${waiting.reason ?? "waiting"}${backOffOf(waiting.message)}`;
  else if (terminated) text = `${terminated.reason ?? "terminated"}(${terminated.exitCode})`;
  return `${name}=${text}${ready === true ? "*" : ""}/${restartCount ?? 0}`;
}

/** `:20s` of `back-off 20s restarting failed container=…`. */
function backOffOf(message = ""): string {
  const found = /^back-off (\S+) restarting/.exec(message)?.[1];
  return found === undefined ? "" : `:${found}`;
}
