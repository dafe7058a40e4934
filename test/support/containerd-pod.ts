import { newContainerAnnotations, newContainerLabels, newPodLabels } from "../../src/kubelet/kuberuntime/labels.js";
import { expectOk } from "../../src/staging/cri/grpc/status.js";
import { NamespaceMode } from "../../src/staging/cri/messages/enums.js";
import { BUSYBOX_IMAGE, type TestContainerd } from "./containerd.js";

const { signal } = new AbortController();

/** Runs until SIGTERM, and exits with 7. */
export const ENDS_WITH_7 = ["/bin/sh", "-c", "trap 'exit 7' TERM; while true; do sleep 0.05; done"];
export const SLEEPS = ["/bin/sleep", "100000"];

/**
 * A pod created by CRI calls, with a kubelet's labels, as a kubelet does. Containers and sandbox are identified by
 * name.
 */
export class ContainerdPod {
  readonly uid: string;
  readonly #ids = new Map<string, string>();

  constructor(
    readonly containerd: TestContainerd,
    readonly name: string,
  ) {
    this.uid = `uid-${name}`;
  }

  /** of a container, or `sandbox` */
  idOf(name: string): string {
    const id = this.#ids.get(name);
    if (id === undefined) throw new Error(`the pod ${this.name} has no ${name}`);
    return id;
  }

  /** `main` or `sandbox` */
  nameOf(id: string): string {
    for (const [name, each] of this.#ids) if (each === id) return name;
    return id;
  }

  async runSandbox(): Promise<void> {
    const id = expectOk(await this.#runtime.runPodSandbox(this.#sandboxConfig, "", signal), "run the sandbox");
    this.#ids.set("sandbox", id);
  }

  async create(name: string, command: readonly string[]): Promise<void> {
    const config = {
      metadata: { name },
      image: { image: BUSYBOX_IMAGE },
      command: [...command],
      logPath: `${name}.log`,
      labels: newContainerLabels({ name }, this.#pod),
      annotations: newContainerAnnotations({ name }, this.#pod, { restartCount: 0, hash: 0x1234 }),
    };
    const sandboxId = this.idOf("sandbox");
    const created = await this.#runtime.createContainer(sandboxId, config, this.#sandboxConfig, signal);
    this.#ids.set(name, expectOk(created, `create ${name}`));
  }

  async start(name: string): Promise<void> {
    expectOk(await this.#runtime.startContainer(this.idOf(name), signal), `start ${name}`);
  }

  /** Returns when it has ended; 0 s kills it. */
  async stop(name: string, graceSeconds: number): Promise<void> {
    expectOk(await this.#runtime.stopContainer(this.idOf(name), graceSeconds, signal), `stop ${name}`);
  }

  async remove(name: string): Promise<void> {
    expectOk(await this.#runtime.removeContainer(this.idOf(name), signal), `remove ${name}`);
  }

  async stopSandbox(): Promise<void> {
    expectOk(await this.#runtime.stopPodSandbox(this.idOf("sandbox"), signal), "stop the sandbox");
  }

  async removeSandbox(): Promise<void> {
    expectOk(await this.#runtime.removePodSandbox(this.idOf("sandbox"), signal), "remove the sandbox");
  }

  /** PID of its first process, on this machine */
  async pidOf(name: string): Promise<number> {
    const { info } = expectOk(await this.#runtime.containerStatus(this.idOf(name), true, signal), "look");
    const { pid } = JSON.parse(info["info"] ?? "{}") as { readonly pid?: unknown };
    if (typeof pid !== "number" || pid <= 1) throw new Error(`containerd does not say the process of ${name}`);
    return pid;
  }

  get #runtime() {
    return this.containerd.client.runtime;
  }

  get #pod() {
    return { metadata: { name: this.name, namespace: "default", uid: this.uid }, spec: {} };
  }

  get #sandboxConfig() {
    return {
      metadata: { name: this.name, uid: this.uid, namespace: "default", attempt: 0 },
      logDirectory: `${this.containerd.folder}/logs/${this.name}`,
      labels: newPodLabels(this.#pod),
      linux: { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } },
    };
  }
}
