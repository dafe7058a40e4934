import type { Decoded } from "../../../staging/apimachinery/protobuf/fields.js";
import type { Clock } from "../../../util/clock.js";
import { type Device, type DevicePluginOptions, HEALTHY } from "../../apis/deviceplugin/v1beta1.js";
import type { DeviceCapacity } from "../../nodestatus/setters.js";
import type { DeviceObserver } from "./device-observer.js";
import { DeviceEndpoint } from "./endpoint.js";
import type { PluginClient } from "./plugin/client.js";

type V1beta1Device = Decoded<typeof Device>;

/** The plugin of a resource, and its devices. */
interface Registered {
  readonly endpoint: DeviceEndpoint;
  /** by ID, in the plugin's order; undefined: not listed yet */
  readonly all: ReadonlyMap<string, V1beta1Device> | undefined;
  /** IDs of devices that can be used */
  readonly healthy: ReadonlySet<string>;
}

/**
 * The devices that plugins have listed, by resource.
 *
 * Mirrors the endpoints, allDevices, healthyDevices and unhealthyDevices of ManagerImpl in
 * pkg/kubelet/cm/devicemanager/manager.go.
 */
export class RegisteredDevices {
  readonly #resources = new Map<string, Registered>();
  /** Resources whose plugin is gone for good. Their capacity is 0, which shows that the node once had them. */
  readonly #removed = new Set<string>();

  constructor(readonly deps: { readonly clock: Clock; readonly observer: DeviceObserver }) {}

  /** A resource of the checkpoint: its capacity is 0 until its plugin registers again. */
  restore(resourceName: string): void {
    const endpoint = new DeviceEndpoint(this.deps.clock, resourceName);
    this.#resources.set(resourceName, { endpoint, all: new Map(), healthy: new Set() });
  }

  /** The devices of an earlier plugin stay until this one lists its own. Mirrors PluginConnected. */
  connected(plugin: PluginClient, options: Decoded<typeof DevicePluginOptions>): void {
    const { resourceName } = plugin;
    const endpoint = new DeviceEndpoint(this.deps.clock, resourceName, plugin, options);
    const { all, healthy = new Set<string>() } = this.#resources.get(resourceName) ?? {};
    this.#resources.set(resourceName, { endpoint, all, healthy });
    this.#removed.delete(resourceName);
  }

  /** Its devices are unhealthy until it registers again. Mirrors PluginDisconnected and markResourceUnhealthy. */
  disconnected(resourceName: string, reason: string): void {
    const registered = this.#resources.get(resourceName);
    if (registered === undefined) return;
    this.deps.observer.pluginGone(resourceName, reason);
    registered.endpoint.stop();
    this.#change(resourceName, registered, { healthy: new Set() });
  }

  /** Mirrors genericDeviceUpdateCallback: with two devices of the same ID, the last one wins. */
  update(resourceName: string, devices: readonly V1beta1Device[]): void {
    const registered = this.#resources.get(resourceName);
    if (registered === undefined) return;
    const all = new Map(devices.map((device) => [device.id, device]));
    if (all.size < devices.length) this.deps.observer.listsAnIdTwice(resourceName, devices.length, all.size);
    const healthy = [...all.values()].filter(({ health }) => health === HEALTHY);
    this.#change(resourceName, registered, { all, healthy: new Set(healthy.map(({ id }) => id)) });
  }

  #change(resourceName: string, registered: Registered, change: Partial<Registered>): void {
    const before = { ...registered };
    Object.assign(registered, change);
    this.deps.observer.healthChanged(resourceName, before, registered);
  }

  /** The healthy devices; undefined: no plugin has listed any of this resource. */
  healthyOf(resourceName: string): ReadonlySet<string> | undefined {
    const registered = this.#resources.get(resourceName);
    return registered?.all === undefined ? undefined : registered.healthy;
  }

  endpointOf(resourceName: string): DeviceEndpoint | undefined {
    return this.#resources.get(resourceName)?.endpoint;
  }

  /** The devices by their NUMA nodes; -1: unknown. */
  byNumaNode(resourceName: string, deviceIds: readonly string[]): Readonly<Record<string, readonly string[]>> {
    const nodes: Record<string, string[]> = {};
    for (const id of deviceIds) {
      const own = this.#resources.get(resourceName)?.all?.get(id)?.topology?.nodes ?? [];
      for (const node of own.length === 0 ? [-1] : own.map((one) => one.id)) {
        nodes[String(node)] ??= [];
        nodes[String(node)]?.push(id);
      }
    }
    return nodes;
  }

  /** The healthy devices of all resources. Mirrors GetAllocatableDevices. */
  healthyDevices(): {
    readonly resourceName: string;
    readonly deviceIds: ReturnType<RegisteredDevices["byNumaNode"]>;
  }[] {
    return [...this.#resources].map(([resourceName, { healthy }]) => ({
      resourceName,
      deviceIds: this.byNumaNode(resourceName, [...healthy]),
    }));
  }

  /** The healthy devices by resource, for the checkpoint. */
  forCheckpoint(): Readonly<Record<string, readonly string[]>> {
    const listed = [...this.#resources].filter(([, { all }]) => all !== undefined);
    return Object.fromEntries(listed.map(([name, { healthy }]) => [name, [...healthy]]));
  }

  /**
   * All devices count as capacity, and the healthy ones are allocatable. Those whose plugin is gone for longer than the grace
   * period are forgotten.
   *
   * Mirrors GetCapacity.
   * Differs: a removed resource stays in later results, so that a status that could not be written loses nothing.
   */
  getCapacity(): DeviceCapacity {
    for (const [name, { endpoint }] of this.#resources) {
      if (!endpoint.stopGracePeriodExpired()) continue;
      this.#resources.delete(name);
      this.#removed.add(name);
      this.deps.observer.pluginStaysAway(name);
    }
    const listed = [...this.#resources].filter(([, { all }]) => all !== undefined);
    const removed = [...this.#removed].map((name) => [name, "0"] as const);
    return {
      capacity: Object.fromEntries([
        ...removed,
        ...listed.map(([name, { all }]) => [name, String(all?.size)] as const),
      ]),
      allocatable: Object.fromEntries(listed.map(([name, { healthy }]) => [name, String(healthy.size)])),
    };
  }
}
