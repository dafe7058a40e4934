import {
  type ContainerSpec,
  initContainersOf,
  isRestartableInitContainer,
  type V1Pod,
} from "../../../staging/apimachinery/api/pod.js";
import { resourcesOf } from "../../../staging/apimachinery/corev1/container-resources.js";
import { unitValue } from "../../../staging/apimachinery/quantity.js";
import { Mutex } from "../../../util/async/mutex.js";
import type { Clock } from "../../../util/clock.js";
import { messageOf } from "../../../util/errors.js";
import type { KubeletMetrics } from "../../metrics/kubelet-metrics.js";
import type { DeviceObserver } from "./device-observer.js";
import { devicesToAllocate } from "./devices-to-allocate.js";
import { devicesOf, type PodDevices } from "./pod-devices.js";
import type { RegisteredDevices } from "./registered-devices.js";

export interface AllocatorDeps {
  readonly clock: Clock;
  readonly observer: DeviceObserver;
  readonly metrics: KubeletMetrics;
  readonly registered: RegisteredDevices;
  readonly podDevices: PodDevices;
  readonly sourcesReady: { allReady(): boolean };
  /** pods that use the node's resources, with the one that is being admitted */
  readonly getActivePods: () => readonly V1Pod[];
}

type Reusable = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Chooses devices for containers, and calls Allocate of their plugins.
 *
 * Mirrors Allocate, allocateContainerResources and UpdateAllocatedDevices in pkg/kubelet/cm/devicemanager/manager.go.
 * Differs: one container at a time, so that the containers' devices are the devices in use.
 */
export class ContainerAllocator {
  readonly #one = new Mutex();
  /** the devices that init containers of the last pod have released, by resource */
  #reusable: { readonly podUid: string; readonly devices: Reusable } = { podUid: "", devices: new Map() };

  constructor(
    readonly deps: AllocatorDeps,
    readonly signal: AbortSignal,
  ) {}

  /**
   * The caller goes through the pod's init containers first: the later ones use their devices again.
   * @returns whether the container got any
   * @throws Error in upstream's words when devices are lacking, or the plugin refuses; the signal's reason
   */
  allocate(pod: V1Pod, container: ContainerSpec): Promise<boolean> {
    return this.#one.run(async () => {
      const podUid = pod.metadata.uid;
      const { devices } = this.#reusable.podUid === podUid ? this.#reusable : { devices: new Map() as Reusable };
      const isChanged = await this.#allocateContainerResources(pod, container, devices);
      this.#reusable = { podUid, devices: this.#reusableAfter(pod, container, devices) };
      return isChanged;
    });
  }

  /** Mirrors addContainerAllocatedResources and removeContainerAllocatedResources. A sidecar keeps its devices. */
  #reusableAfter(pod: V1Pod, container: ContainerSpec, before: Reusable): Reusable {
    const after = new Map(before);
    const isInit = initContainersOf(pod).some(({ name }) => name === container.name);
    const releases = isInit && !isRestartableInitContainer(container);
    for (const entry of this.deps.podDevices.ofContainer(pod.metadata.uid, container.name)) {
      const { resourceName } = entry;
      const own = devicesOf(entry);
      const others = [...(before.get(resourceName) ?? [])].filter((device) => !own.includes(device));
      after.set(resourceName, new Set(releases ? [...others, ...own] : others));
    }
    return after;
  }

  /** The limits are enough, because an extended resource has equal requests. */
  async #allocateContainerResources(pod: V1Pod, container: ContainerSpec, reusable: Reusable): Promise<boolean> {
    let isChanged = false;
    for (const [resourceName, quantity] of Object.entries(resourcesOf(container).limits)) {
      if (!this.isDevicePluginResource(resourceName)) continue;
      this.updateAllocatedDevices();
      const required = unitValue(quantity);
      if (!this.#needsDevices(pod, container, resourceName, required)) continue;
      await this.#allocateResource(pod, container, resourceName, required, reusable.get(resourceName) ?? new Set());
      isChanged = true;
    }
    return isChanged;
  }

  /** A plugin lists the resource, or a container has some of it. */
  isDevicePluginResource(resourceName: string): boolean {
    const { registered, podDevices } = this.deps;
    return registered.healthyOf(resourceName) !== undefined || podDevices.inUse(resourceName) !== undefined;
  }

  /** A container that is started again has its devices. @throws Error if its request has changed */
  #needsDevices(pod: V1Pod, { name }: ContainerSpec, resourceName: string, required: number): boolean {
    const { uid } = pod.metadata;
    const has = this.deps.podDevices.containerDevices(uid, name, resourceName);
    if (has === undefined) return required > 0;
    if (has.length === required) return false;
    const change = `from ${has.length} to ${required}`;
    throw new Error(`pod "${uid}" container "${name}" changed request for resource "${resourceName}" ${change}`);
  }

  async #allocateResource(
    pod: V1Pod,
    { name: containerName }: ContainerSpec,
    resourceName: string,
    required: number,
    reusable: ReadonlySet<string>,
  ): Promise<void> {
    const { clock, metrics, registered, podDevices } = this.deps;
    const { signal } = this;
    const healthy = registered.healthyOf(resourceName);
    const endpoint = registered.endpointOf(resourceName);
    if (healthy === undefined || endpoint === undefined) {
      throw new Error(`can't allocate unregistered device ${resourceName}`);
    }
    const { devices, why } = await devicesToAllocate({
      ...{ resourceName, required, reusable, healthy },
      inUse: podDevices.inUse(resourceName) ?? new Set(),
      prefer: async (available, mustInclude) => {
        if (endpoint.options?.getPreferredAllocationAvailable !== true) return undefined;
        return endpoint.getPreferredAllocation(available, mustInclude, required, signal).catch((cause: unknown) => {
          signal.throwIfAborted();
          throw new Error(`device plugin GetPreferredAllocation rpc failed with err: ${messageOf(cause)}`, { cause });
        });
      },
    });
    this.deps.observer.allocates(devices, resourceName, containerName, pod, why);
    const startMs = clock.now();
    const allocResp = await endpoint.allocate(devices, signal).finally(() => {
      const labels = { resource_name: resourceName };
      metrics.observe("kubelet_device_plugin_alloc_duration_seconds", clock.now() - startMs, labels);
    });
    const deviceIds = registered.byNumaNode(resourceName, devices);
    podDevices.insert({ podUid: pod.metadata.uid, containerName, resourceName, deviceIds, allocResp });
  }

  /** Takes their devices from pods that have ended. */
  updateAllocatedDevices(): void {
    const { sourcesReady, getActivePods, podDevices } = this.deps;
    if (!sourcesReady.allReady()) return;
    const active = new Set(getActivePods().map(({ metadata }) => metadata.uid));
    for (const entry of podDevices.keepOnly(active)) this.deps.observer.takesBack(entry);
  }
}
