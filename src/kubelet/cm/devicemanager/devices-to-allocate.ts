import { counted } from "../../../util/text/counted.js";

export interface DevicesRequest {
  readonly resourceName: string;
  /** the number of devices that the container needs: more than 0 */
  readonly required: number;
  /** the devices that an earlier init container of the pod has released */
  readonly reusable: ReadonlySet<string>;
  readonly healthy: ReadonlySet<string>;
  readonly inUse: ReadonlySet<string>;
  /**
   * Returns the devices that the plugin prefers; undefined if it has no preference.
   * @param mustInclude the devices that are already chosen
   */
  readonly prefer: (
    available: readonly string[],
    mustInclude: readonly string[],
  ) => Promise<readonly string[] | undefined>;
}

export interface ChosenDevices {
  readonly devices: readonly string[];
  readonly why: string;
}

/**
 * Chooses the devices of a container: those that an init container has released, then those that the plugin prefers, then
 * any that are free.
 *
 * Mirrors devicesToAllocate in pkg/kubelet/cm/devicemanager/manager.go, without topology (the policy is none).
 * Differs: takes free devices in the plugin's order, where upstream takes them in that of a Go map.
 * @throws Error in upstream's words; that of `prefer`
 */
export async function devicesToAllocate(request: DevicesRequest): Promise<ChosenDevices> {
  const { resourceName, required, reusable, healthy, inUse } = request;
  const reused = [...reusable].slice(0, required);
  const needed = required - reused.length;
  const released = `an init container of the pod has released ${reused.join(" ")}`;
  if (needed === 0) return { devices: reused, why: released };

  const free = [...healthy].filter((device) => !inUse.has(device));
  if (free.length < needed) {
    throw new Error(
      `requested number of devices unavailable for ${resourceName}. Requested: ${needed}, Available: ${free.length}`,
    );
  }
  const preferred = await request.prefer([...free, ...reused], reused);
  const wanted = [...new Set(preferred)].filter((device) => free.includes(device)).slice(0, needed);
  const others = free.filter((device) => !wanted.includes(device)).slice(0, needed - wanted.length);
  const reasons = [
    ...(reused.length === 0 ? [] : [released]),
    `${counted(free.length, "healthy device")} ${free.length === 1 ? "is" : "are"} free`,
    ...(wanted.length === 0 ? [] : [`the plugin prefers ${wanted.join(" ")}`]),
  ];
  return { devices: [...reused, ...wanted, ...others], why: reasons.join("; ") };
}
