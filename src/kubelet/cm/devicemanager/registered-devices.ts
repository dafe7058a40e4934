import type { Decoded } from "../../../staging/apimachinery/protobuf/fields.js";
import type { Trace } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";
import { durationText } from "../../../util/release/fact-table.js";
import { type Device, type DevicePluginOptions, HEALTHY } from "../../apis/deviceplugin/v1beta1.js";
import type { DeviceCapacity } from "../../nodestatus/setters.js";
import { DeviceEndpoint, ENDPOINT_STOP_GRACE_PERIOD_MS } from "./endpoint.js";
import type { PluginClient } from "./plugin/client.js";

const FILE = "pkg/kubelet/cm/devicemanager/manager.go";
const GRACE_PERIOD = { name: "endpointStopGracePeriod", value: durationText(ENDPOINT_STOP_GRACE_PERIOD_MS) };

type V1beta1Device = Decoded<typeof Device>;

/** The plugin of a resource, and its devices. */
interface Registered {
  readonly endpoint: DeviceEndpoint;
  /** by ID, in the plugin's order; undefined: it has not listed any yet */
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

  constructor(readonly deps: { readonly clock: Clock; readonly trace: Trace }) {}

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
    const why = `its plugin has gone: ${reason}; it may register again`;
    this.#decided(`mark all devices of ${resourceName} as unhealthy`, why, "PluginDisconnected");
    registered.endpoint.stop();
    this.#change(resourceName, registered, { healthy: new Set() });
  }

  /** Mirrors genericDeviceUpdateCallback: with two devices of the same ID, the last one wins. */
  update(resourceName: string, devices: readonly V1beta1Device[]): void {
    const registered = this.#resources.get(resourceName);
    if (registered === undefined) return;
    const all = new Map(devices.map((device) => [device.id, device]));
    if (all.size < devices.length) {
      const message = `The plugin of ${resourceName} lists an ID twice: its ${devices.length} devices count as ${all.size}.`;
      this.deps.trace.emit({ kind: "error", message }, { actor: "kubelet" });
    }
    const healthy = [...all.values()].filter(({ health }) => health === HEALTHY);
    this.#change(resourceName, registered, { all, healthy: new Set(healthy.map(({ id }) => id)) });
  }

  #change(resourceName: string, registered: Registered, change: Partial<Registered>): void {
    const from = healthText(registered);
    Object.assign(registered, change);
    const to = healthText(registered);
    if (from === to) return;
    const upstream = { file: FILE, func: "genericDeviceUpdateCallback" };
    const fact = { subject: `devices of ${resourceName}`, what: "healthy", from, to, upstream };
    this.deps.trace.emit({ kind: "state", ...fact }, { actor: "kubelet" });
  }

  /** The healthy devices; undefined: no plugin has listed any of this resource. */
  healthyOf(resourceName: string): ReadonlySet<string> | undefined {
    const registered = this.#resources.get(resourceName);
    return registered?.all === undefined ? undefined : registered.healthy;
  }

  endpointOf(resourceName: string): DeviceEndpoint | undefined {
    return this.#resources.get(resourceName)?.endpoint;
  }

  /** The devices by the NUMA nodes that they are at; -1: none is known. */
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
      const why = "its plugin has not come back within the grace period";
      this.#decided(`remove the devices of ${name}`, why, "GetCapacity");
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

  #decided(what: string, why: string, func: string): void {
    const fact = { what, why, constants: [GRACE_PERIOD], upstream: { file: FILE, func } };
    this.deps.trace.emit({ kind: "decision", ...fact }, { actor: "kubelet" });
  }
}

/** `2 of 3: gpu-0 gpu-2` */
function healthText({ all, healthy }: Registered): string {
  return `${healthy.size} of ${all?.size ?? 0}${healthy.size === 0 ? "" : `: ${devicesText(healthy)}`}`;
}

/** How many devices a fact names. */
const MAX_NAMED = 8;

/** `gpu-0 gpu-1` */
export function devicesText(devices: Iterable<string>): string {
  const all = [...devices];
  const more = all.length > MAX_NAMED ? ` and ${all.length - MAX_NAMED} more` : "";
  return `${all.slice(0, MAX_NAMED).join(" ")}${more}`;
}
