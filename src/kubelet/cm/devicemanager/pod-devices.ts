import type { Decoded } from "../../../staging/apimachinery/protobuf/fields.js";
import type { ContainerAllocateResponse } from "../../apis/deviceplugin/v1beta1.js";
import type { RunContainerOptions } from "../../container/runtime-helper.js";

/** The devices of one resource that a container has. Mirrors deviceAllocateInfo, with its keys. */
export interface PodDevicesEntry {
  readonly podUid: string;
  readonly containerName: string;
  readonly resourceName: string;
  /** by NUMA node; `-1`: of none */
  readonly deviceIds: Readonly<Record<string, readonly string[]>>;
  /** the plugin's answer to Allocate */
  readonly allocResp: Decoded<typeof ContainerAllocateResponse>;
}

/** The options of a container for its devices. Mirrors DeviceRunContainerOptions in pkg/kubelet/cm/devicemanager/types.go. */
export type DeviceRunContainerOptions = Required<
  Pick<RunContainerOptions, "envs" | "mounts" | "devices" | "annotations">
>;

/**
 * The devices of each container.
 * Mirrors pkg/kubelet/cm/devicemanager/pod_devices.go.
 */
export class PodDevices {
  #entries: readonly PodDevicesEntry[] = [];

  get entries(): readonly PodDevicesEntry[] {
    return this.#entries;
  }

  hasPod(podUid: string): boolean {
    return this.#entries.some((entry) => entry.podUid === podUid);
  }

  /** Replaces the container's devices of the resource. */
  insert(entry: PodDevicesEntry): void {
    const { podUid, containerName, resourceName } = entry;
    const others = this.#entries.filter(
      (one) => one.resourceName !== resourceName || one.podUid !== podUid || one.containerName !== containerName,
    );
    this.#entries = [...others, entry];
  }

  /** Forgets all pods but these. @returns the devices of the others */
  keepOnly(podUids: ReadonlySet<string>): readonly PodDevicesEntry[] {
    const removed = this.#entries.filter(({ podUid }) => !podUids.has(podUid));
    if (removed.length > 0) this.#entries = this.#entries.filter(({ podUid }) => podUids.has(podUid));
    return removed;
  }

  ofContainer(podUid: string, containerName: string): readonly PodDevicesEntry[] {
    return this.#entries.filter((one) => one.podUid === podUid && one.containerName === containerName);
  }

  /** @returns undefined if the container has no device of the resource */
  containerDevices(podUid: string, containerName: string, resourceName: string): readonly string[] | undefined {
    const found = this.ofContainer(podUid, containerName).find((one) => one.resourceName === resourceName);
    return found === undefined ? undefined : devicesOf(found);
  }

  /** The devices of the resource that containers have; undefined: no container ever had one. */
  inUse(resourceName: string): ReadonlySet<string> | undefined {
    const entries = this.#entries.filter((one) => one.resourceName === resourceName);
    return entries.length === 0 ? undefined : new Set(entries.flatMap(devicesOf));
  }

  /** The number of devices in use by resource. */
  counts(): ReadonlyMap<string, number> {
    const names = new Set(this.#entries.map(({ resourceName }) => resourceName));
    return new Map([...names].map((name) => [name, this.inUse(name)?.size ?? 0]));
  }

  /**
   * The answers to Allocate for all resources of a container, combined; the first one wins.
   * @param onConflict gets the setting in which two answers differ: `mount /dev/x`
   * @returns undefined if the container has no devices
   */
  deviceRunContainerOptions(
    podUid: string,
    containerName: string,
    onConflict: (what: string) => void,
  ): DeviceRunContainerOptions | undefined {
    const answers = this.ofContainer(podUid, containerName).map(({ allocResp }) => allocResp);
    if (answers.length === 0) return undefined;
    const envs = answers.flatMap((one) => Object.entries(one.envs));
    const annotations = answers.flatMap((one) => Object.entries(one.annotations));
    const mounts = answers.flatMap((one) => one.mounts);
    const devices = answers.flatMap((one) => one.devices);
    const first = <T>(items: readonly T[], pair: (item: T) => readonly [string, string], what: string) =>
      firstOfEach(items, pair, (key) => onConflict(`${what} ${key}`));
    return {
      envs: first(envs, (pair) => pair, "environment variable").map(([name, value]) => ({
        name,
        value,
      })),
      devices: first(devices, (one) => [one.containerPath, one.hostPath], "device").map(
        ({ hostPath, containerPath, permissions }) => ({
          pathOnHost: hostPath,
          pathInContainer: containerPath,
          permissions,
        }),
      ),
      mounts: first(mounts, (one) => [one.containerPath, one.hostPath], "mount").map((mount) => ({
        name: mount.containerPath,
        ...mount,
      })),
      annotations: Object.fromEntries(first(annotations, (pair) => pair, "annotation")),
    };
  }
}

/** The IDs of all NUMA nodes, each once. Mirrors DevicesPerNUMA.Devices in pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go. */
export function devicesOf({ deviceIds }: Pick<PodDevicesEntry, "deviceIds">): readonly string[] {
  return [...new Set(Object.values(deviceIds).flat())];
}

/** The first item of each key. An item with the key of an earlier one must have its value. */
function firstOfEach<T>(
  items: readonly T[],
  pair: (item: T) => readonly [key: string, value: string],
  onConflict: (key: string) => void,
): readonly T[] {
  const values = new Map<string, string>();
  return items.filter((item) => {
    const [key, value] = pair(item);
    const earlier = values.get(key);
    if (earlier === undefined) values.set(key, value);
    else if (earlier !== value) onConflict(key);
    return earlier === undefined;
  });
}
