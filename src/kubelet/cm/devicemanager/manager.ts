import { join } from "node:path";
import type { ContainerSpec, V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { resourcesOf } from "../../../staging/apimachinery/corev1/container-resources.js";
import type { Decoded } from "../../../staging/apimachinery/protobuf/fields.js";
import { unitValue } from "../../../staging/apimachinery/quantity.js";
import type { Trace } from "../../../trace/trace.js";
import { Mutex } from "../../../util/async/mutex.js";
import { messageOf } from "../../../util/errors.js";
import { DEVICE_PLUGINS_FOLDER, type Device, type DevicePluginOptions } from "../../apis/deviceplugin/v1beta1.js";
import type { DeviceCapacity } from "../../nodestatus/setters.js";
import { readCheckpoint, writeCheckpoint } from "./checkpoint.js";
import { type AllocatorDeps, ContainerAllocator } from "./container-allocator.js";
import { DeviceObserver } from "./device-observer.js";
import type { PluginClient } from "./plugin/client.js";
import { type ClientHandler, RegistrationServer } from "./plugin/server.js";
import { type DeviceRunContainerOptions, PodDevices, type PodDevicesEntry } from "./pod-devices.js";
import { RegisteredDevices } from "./registered-devices.js";

/**
 * Assigns the devices of plugins to containers, and records the assignments.
 *
 * Mirrors ManagerImpl in pkg/kubelet/cm/devicemanager/manager.go.
 */
export class DeviceManager implements ClientHandler {
  readonly #observer: DeviceObserver;
  readonly #folder: string;
  readonly #registered: RegisteredDevices;
  readonly #podDevices = new PodDevices();
  readonly #allocator: ContainerAllocator;
  readonly #server: RegistrationServer;
  readonly #writing = new Mutex();
  #nextWrite: Promise<void> | undefined;

  /** @param rootDir the kubelet's folder */
  constructor(
    readonly deps: Omit<AllocatorDeps, "observer" | "registered" | "podDevices"> & { readonly trace: Trace },
    rootDir: string,
    readonly signal: AbortSignal,
  ) {
    const observer = new DeviceObserver(deps.trace);
    this.#observer = observer;
    this.#folder = join(rootDir, DEVICE_PLUGINS_FOLDER);
    this.#registered = new RegisteredDevices({ ...deps, observer });
    const devices = { observer, registered: this.#registered, podDevices: this.#podDevices };
    this.#allocator = new ContainerAllocator({ ...deps, ...devices }, signal);
    this.#server = new RegistrationServer({ ...deps, observer, handler: this }, this.#folder, signal);
  }

  /** where plugins register */
  get socketPath(): string {
    return this.#server.socketPath;
  }

  /**
   * Reads the checkpoint, and lets plugins register.
   *
   * Mirrors Start.
   * Differs: a kubelet that cannot listen runs without device plugins, where upstream's exits. A folder with a long path is enough.
   */
  async start(): Promise<void> {
    try {
      await this.#readCheckpoint();
    } catch (error) {
      this.#observer.checkpointUnreadable(error);
    }
    try {
      await this.#server.start();
    } catch (error) {
      this.#observer.pluginsCannotRegister(error);
    }
  }

  pluginConnected(plugin: PluginClient, options: Decoded<typeof DevicePluginOptions>): void {
    this.#registered.connected(plugin, options);
  }

  pluginListAndWatchReceiver(resourceName: string, devices: readonly Decoded<typeof Device>[]): void {
    this.#registered.update(resourceName, devices);
    void this.#writeCheckpoint();
  }

  pluginDisconnected(resourceName: string, why: string): void {
    this.#registered.disconnected(resourceName, why);
  }

  /** Takes their devices from pods that have ended. */
  updateAllocatedDevices(): void {
    this.#allocator.updateAllocatedDevices();
  }

  /** The devices of a container. */
  getDevices(podUid: string, containerName: string): readonly PodDevicesEntry[] {
    return this.#podDevices.ofContainer(podUid, containerName);
  }

  /** The healthy devices of all resources. */
  getAllocatableDevices(): readonly Pick<PodDevicesEntry, "resourceName" | "deviceIds">[] {
    return this.#registered.healthyDevices();
  }

  getCapacity(): DeviceCapacity {
    return this.#registered.getCapacity();
  }

  /** Gives a container its devices, before the pod is admitted. @throws Error as ContainerAllocator.allocate */
  async allocate(pod: V1Pod, container: ContainerSpec): Promise<void> {
    if (await this.#allocator.allocate(pod, container)) await this.#writeCheckpoint();
  }

  /**
   * Raises a node's allocatable devices to the number in use, so that a pod with its devices passes admission while the plugin is gone.
   * Mirrors UpdatePluginResources and sanitizeNodeAllocatable.
   */
  updatePluginResources(pod: V1Pod, allocatable: Map<string, number>): void {
    if (!this.#podDevices.hasPod(pod.metadata.uid)) return;
    for (const [name, count] of this.#podDevices.counts()) {
      allocatable.set(name, Math.max(allocatable.get(name) ?? 0, count));
    }
  }

  /**
   * The options of a container for its devices, just before it is created. Calls PreStartContainer of plugins that request it.
   * @returns undefined if it has no devices
   * @throws Error in upstream's words
   */
  async getDeviceRunContainerOptions(
    pod: V1Pod,
    container: ContainerSpec,
  ): Promise<DeviceRunContainerOptions | undefined> {
    const { uid } = pod.metadata;
    let needsReAllocate = false;
    for (const [resourceName, quantity] of Object.entries(resourcesOf(container).limits)) {
      if (!this.#allocator.isDevicePluginResource(resourceName) || unitValue(quantity) === 0) continue;
      await this.#callPreStartContainerIfNeeded(uid, container.name, resourceName);
      const isActive = this.deps.getActivePods().some(({ metadata }) => metadata.uid === uid);
      // The pod may have been admitted before the plugin had registered with this kubelet.
      const has = this.#podDevices.containerDevices(uid, container.name, resourceName);
      if (isActive && has === undefined) needsReAllocate = true;
    }
    if (needsReAllocate) await this.allocate(pod, container);
    return this.#podDevices.deviceRunContainerOptions(uid, container.name, (what) =>
      this.#observer.setTwice(what, container.name, pod),
    );
  }

  async #callPreStartContainerIfNeeded(podUid: string, containerName: string, resourceName: string): Promise<void> {
    const endpoint = this.#registered.endpointOf(resourceName);
    if (endpoint === undefined) {
      throw new Error(`endpoint not found in cache for a registered resource: ${resourceName}`);
    }
    if (endpoint.options?.preStartRequired !== true) return;
    const devices = this.#podDevices.containerDevices(podUid, containerName, resourceName);
    if (devices === undefined) {
      const of = `pod ${podUid}, container ${containerName}, resource ${resourceName}`;
      throw new Error(`no devices found allocated in local cache for ${of}`);
    }
    await endpoint.preStartContainer(devices, this.signal).catch((cause: unknown) => {
      this.signal.throwIfAborted();
      throw new Error(`device plugin PreStartContainer rpc failed with err: ${messageOf(cause)}`, { cause });
    });
  }

  async #readCheckpoint(): Promise<void> {
    const checkpoint = await readCheckpoint(this.#folder);
    for (const entry of checkpoint?.podDevices ?? []) this.#podDevices.insert(entry);
    for (const resourceName of Object.keys(checkpoint?.registeredDevices ?? {})) this.#registered.restore(resourceName);
  }

  /** Waiting callers share the next write. A failure is reported; the devices stay known until the kubelet ends. */
  #writeCheckpoint(): Promise<void> {
    this.#nextWrite ??= this.#writing.run(async () => {
      this.#nextWrite = undefined;
      const podDevices = this.#podDevices.entries;
      const registeredDevices = this.#registered.forCheckpoint();
      await writeCheckpoint(this.#folder, { podDevices, registeredDevices }).catch((error: unknown) =>
        this.#observer.checkpointNotWritten(error),
      );
    });
    return this.#nextWrite;
  }

  /** Ends the connections. The devices of containers stay in the checkpoint. */
  async close(): Promise<void> {
    await this.#server.close();
    await this.#writing.run(async () => {});
  }
}
