import { join } from "node:path";
import type { ControlPlane, ControlPlaneOptions } from "../../../cluster/control-plane/control-plane.js";
import type { RuntimeChange } from "../../../cluster/runtime/state/changes.js";
import { controlPlanePods } from "../../../testbed/system-pods/static-pods.js";
import { startEmbeddedControlPlane } from "../../../testbed/target/embedded-control-plane.js";
import { LabError } from "../../../util/errors.js";
import { makeFolder, writeFileAtomic } from "../../../util/os/files.js";
import { stringify } from "../../../util/yaml.js";

const NAME = "kube-apiserver";
/** Below the ports that systems give to clients, so that no connection takes the port while the API server is down. */
const PORTS = { first: 20_000, count: 10_000 } as const;
const PORT_ATTEMPTS = 20;
/** A client of the former API server may still hold the port. In ms of the lab's clock. */
const RESTART_MS = 1_000;

/**
 * A control plane whose API server is a static pod of a node, as kubeadm makes it. The whole control plane runs as long as the pod's
 * container, because controllers and scheduler need their API server. Its state is on disk and outlives it.
 */
export class ApiServerPod implements AsyncDisposable {
  #current: ControlPlane | undefined;
  #wanted = true;
  #turn: Promise<void> = Promise.resolve();
  readonly #closing = new AbortController();

  /** called with each control plane that has started, and with undefined before one ends */
  onChange: (current: ControlPlane | undefined) => void = () => {};

  private constructor(
    readonly options: ControlPlaneOptions,
    readonly first: ControlPlane,
  ) {
    this.#current = first;
  }

  /**
   * Starts the control plane on a free port.
   * @param folder of the cluster's state
   * @throws LabError as `startEmbeddedControlPlane`
   */
  static async open(options: ControlPlaneOptions, folder: string): Promise<ApiServerPod> {
    for (let attempt = 1; ; attempt++) {
      const port = PORTS.first + Math.floor(options.random.float() * PORTS.count);
      const placed: ControlPlaneOptions = { ...options, port, disk: { folder, fsync: "never" } };
      try {
        return new ApiServerPod(placed, await startEmbeddedControlPlane(placed));
      } catch (error) {
        const isTaken = error instanceof LabError && error.code === "USAGE";
        if (!isTaken || attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }

  /** Writes the manifest of the static pod. */
  async writeManifest(folder: string): Promise<void> {
    const { kubeVersion } = this.options;
    const runsIn = `process ${process.pid} of this machine`;
    const pods = controlPlanePods({ kubeVersion, url: this.first.url, runsIn });
    await makeFolder(folder);
    for (const pod of pods.filter(({ metadata }) => metadata.name === NAME)) {
      await writeFileAtomic(join(folder, `${NAME}.yaml`), stringify(pod));
    }
  }

  /**
   * Ties the control plane to the pod's container on this node: it ends and starts with it.
   * @param changes of the node's runtime
   * @param onFailure receives the error when the control plane does not start
   */
  follow(
    node: string,
    changes: (signal: AbortSignal) => AsyncIterable<RuntimeChange>,
    onFailure: (error: unknown) => void,
  ): void {
    const { signal } = this.#closing;
    const pod = `kube-system/${NAME}-${node}`;
    const read = async () => {
      for await (const change of changes(signal)) {
        if (change.kind !== "container" || change.pod !== pod || change.name !== NAME) continue;
        if (change.to === "running") this.#set(true, onFailure);
        else if (change.from === "running") this.#set(false, onFailure);
      }
    };
    read().catch((error: unknown) => {
      if (!signal.aborted) onFailure(error);
    });
  }

  /**
   * Ends the control plane, and starts it again after `downMs` of the lab's clock.
   * @param downMs undefined: it stays down until the next call; 0: it starts at once if it is down
   */
  async restart(downMs: number | undefined, signal: AbortSignal): Promise<void> {
    let failure: unknown;
    const set = async (wanted: boolean) => {
      this.#set(wanted, (error) => {
        failure ??= error;
      });
      await this.#turn;
      if (failure !== undefined) throw failure;
    };
    if (downMs !== 0) await set(false);
    if (downMs === undefined) return;
    await this.options.clock.sleep(downMs, signal);
    await set(true);
  }

  #set(wanted: boolean, onFailure: (error: unknown) => void): void {
    this.#wanted = wanted;
    this.#turn = this.#turn.then(() => this.#adjust()).catch(onFailure);
  }

  async #adjust(): Promise<void> {
    const { signal } = this.#closing;
    if (!this.#wanted) {
      const ending = this.#current;
      this.#current = undefined;
      this.onChange(undefined);
      await ending?.close();
    }
    while (this.#wanted && this.#current === undefined && !signal.aborted) {
      try {
        this.#current = await startEmbeddedControlPlane(this.options);
        this.onChange(this.#current);
      } catch (error) {
        if (!(error instanceof LabError) || error.code !== "USAGE") throw error;
        await this.options.clock.sleep(RESTART_MS, signal).catch(() => undefined);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#wanted = false;
    await this.#turn;
    await this.#current?.close();
    this.#current = undefined;
  }
}
