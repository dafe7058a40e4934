import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { AllocateResourcesAdmitHandler } from "../../../../src/kubelet/cm/allocate-resources.js";
import { DeviceManager } from "../../../../src/kubelet/cm/devicemanager/manager.js";
import { KubeletMetrics } from "../../../../src/kubelet/metrics/kubelet-metrics.js";
import type { V1Pod } from "../../../../src/staging/apimachinery/api/pod.js";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { type Behaviour, ForeignPlugin, healthy } from "../../../support/device-plugin.js";
import { FakeClock, untilTrue } from "../../../support/fake-clock.js";
import { recordingTrace } from "../../../support/trace.js";

export const GPU = "example.com/gpu";

/** A device manager over a folder of its own, with pods that the test names. */
export class DeviceLab {
  readonly clock = new FakeClock();
  readonly rootDir = mkdtempSync(join(tmpdir(), "devices-"));
  readonly events: TraceEvent[];
  readonly metrics = new KubeletMetrics({ nodeName: "n1", startMs: 0 });
  /** active pods */
  pods: V1Pod[] = [];
  manager: DeviceManager;
  readonly #trace;
  #stop = new AbortController();

  constructor() {
    const { trace, events } = recordingTrace(this.clock);
    this.#trace = trace;
    this.events = events;
    this.manager = this.#make();
    onTestFinished(async () => {
      await this.stop();
      await rm(this.rootDir, { recursive: true, force: true });
    });
  }

  static async start(): Promise<DeviceLab> {
    const lab = new DeviceLab();
    await lab.manager.start();
    return lab;
  }

  #make(): DeviceManager {
    this.#stop = new AbortController();
    return new DeviceManager(
      {
        clock: this.clock,
        trace: this.#trace,
        metrics: this.metrics,
        sourcesReady: { allReady: () => true },
        getActivePods: () => this.pods,
      },
      this.rootDir,
      this.#stop.signal,
    );
  }

  get folder(): string {
    return join(this.rootDir, "device-plugins");
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.manager.close();
  }

  /** As the kubelet's process ends and another begins. */
  async restart(): Promise<void> {
    await this.stop();
    this.manager = this.#make();
    await this.manager.start();
  }

  /** A plugin that has registered, and whose devices the manager knows. */
  async plugin(
    devices: readonly Parameters<typeof ForeignPlugin.serve>[1][number][] = healthy("gpu-0", "gpu-1"),
    behaviour: Behaviour = {},
    { resource = GPU, socket = "foreign.sock" } = {},
  ): Promise<ForeignPlugin> {
    const plugin = await ForeignPlugin.serve(this.folder, devices, behaviour, socket);
    onTestFinished(() => plugin.close());
    await plugin.register(resource);
    await this.until(resource, devices.length);
    return plugin;
  }

  /** Waits until the node has so many of the resource, and of them so many that can be used. */
  until(resource: string, capacity: number, allocatable?: number): Promise<void> {
    return untilTrue(() => {
      const now = this.manager.getCapacity();
      const wanted = String(allocatable ?? now.allocatable[resource]);
      return now.capacity[resource] === String(capacity) && now.allocatable[resource] === wanted;
    });
  }

  /** Admits a pod that asks for devices. @returns the refusal's message; undefined: it was admitted */
  async admit(pod: V1Pod): Promise<string | undefined> {
    this.pods.push(pod);
    const result = await new AllocateResourcesAdmitHandler(this.manager).admit({ pod, otherPods: [] });
    if (result.admit) return undefined;
    this.pods = this.pods.filter((one) => one !== pod);
    return `${result.reason}: ${result.message}`;
  }

  /** What the container of a pod gets. */
  optionsOf(pod: V1Pod, name = "app") {
    const all = [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])];
    const container = all.find((one) => one.name === name);
    if (container === undefined) throw new Error(`no container ${name}`);
    return this.manager.getDeviceRunContainerOptions(pod, container);
  }

  /** The value of a variable that the container gets. */
  async env(pod: V1Pod, name = "app", variable = "DEVICES"): Promise<string | undefined> {
    return (await this.optionsOf(pod, name))?.envs.find((one) => one.name === variable)?.value;
  }

  /** What was decided so far, and why: `give gpu-0 …: 2 healthy devices are free`. */
  decisions(): string[] {
    return this.events.flatMap((event) => (event.kind === "decision" ? [`${event.what}: ${event.why}`] : []));
  }
}

/** A container that asks for so many of a resource. */
export const asks = (count: number, name = "app", resource = GPU, more: object = {}) => ({
  name,
  resources: { limits: { [resource]: String(count) }, requests: { [resource]: String(count) } },
  ...more,
});

export function podOf(name: string, containers: readonly object[], initContainers: readonly object[] = []): V1Pod {
  const spec = { containers, initContainers };
  return { metadata: { name, namespace: "default", uid: `uid-${name}` }, spec, status: {} } as unknown as V1Pod;
}
