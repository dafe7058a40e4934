import type { V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { messageOf } from "../../../util/errors.js";
import { durationText } from "../../../util/release/fact.js";
import { KubeletObserver } from "../../types/observer.js";
import { podText } from "../../types/pod-update.js";
import { ENDPOINT_STOP_GRACE_PERIOD_MS } from "./endpoint.js";
import { devicesOf, type PodDevicesEntry } from "./pod-devices.js";

const GRACE_PERIOD = { name: "endpointStopGracePeriod", value: durationText(ENDPOINT_STOP_GRACE_PERIOD_MS) };
const SERVER = { file: "pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go" };
/** How many devices a fact names. */
const MAX_NAMED = 8;

interface DeviceHealth {
  readonly all: ReadonlyMap<string, unknown> | undefined;
  readonly healthy: ReadonlySet<string>;
}

/** Words the facts about devices, their plugins and the containers that have them. */
export class DeviceObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/cm/devicemanager/manager.go";

  checkpointUnreadable(error: unknown): void {
    const hint = "Containers with devices may share them.";
    this.error(`Failed to read the devices of containers: ${messageOf(error)}`, { level: 1, hint });
  }

  checkpointNotWritten(error: unknown): void {
    this.error(`Failed to write checkpoint file: ${messageOf(error)}`);
  }

  pluginsCannotRegister(error: unknown): void {
    const hint = "Pods without devices run as usual; a shorter --root-dir may help.";
    this.error(`Device plugins cannot register: ${messageOf(error)}`, { level: 1, hint });
  }

  /** @param what two plugins set: `environment variable X` */
  setTwice(what: string, containerName: string, pod: V1Pod): void {
    const of = `container ${containerName} of ${podText(pod)}`;
    this.error(`Two device plugins set the ${what} of ${of}: the first wins.`);
  }

  allocates(devices: Iterable<string>, resourceName: string, containerName: string, pod: V1Pod, why: string): void {
    const what = `give ${devicesText(devices)} of ${resourceName} to container ${containerName} of ${podText(pod)}`;
    this.decision(what, why, "devicesToAllocate");
  }

  takesBack(entry: PodDevicesEntry): void {
    const { podUid, containerName, resourceName } = entry;
    const what = `take ${devicesText(devicesOf(entry))} of ${resourceName} from container ${containerName} of pod ${podUid}`;
    this.decision(what, "the pod is not active any more", "UpdateAllocatedDevices");
  }

  pluginGone(resourceName: string, reason: string): void {
    const why = `its plugin has gone: ${reason}; it may register again`;
    const constants = [GRACE_PERIOD];
    this.decision(`mark all devices of ${resourceName} as unhealthy`, why, "PluginDisconnected", { constants });
  }

  pluginStaysAway(resourceName: string): void {
    const why = "its plugin has not come back within the grace period";
    this.decision(`remove the devices of ${resourceName}`, why, "GetCapacity", { constants: [GRACE_PERIOD] });
  }

  listsAnIdTwice(resourceName: string, listed: number, counted: number): void {
    this.error(`The plugin of ${resourceName} lists an ID twice: its ${listed} devices count as ${counted}.`);
  }

  healthChanged(resourceName: string, before: DeviceHealth, after: DeviceHealth): void {
    const from = healthText(before);
    const to = healthText(after);
    if (from !== to) this.state(`devices of ${resourceName}`, "healthy", to, "genericDeviceUpdateCallback", { from });
  }

  removesSocket(path: string): void {
    const why = "an earlier kubelet or plugin has left it; a plugin that misses its socket registers again";
    this.decision(`remove the socket ${path}`, why, "Start", SERVER);
  }

  refusesPlugin(resourceName: string, error: unknown): void {
    this.decision(`refuse the device plugin of ${resourceName}`, messageOf(error), "Register", SERVER);
  }

  acceptsPlugin(resourceName: string, isReplacement: boolean): void {
    const known = "it speaks v1beta1, answers at its socket, and its resource is an extended one";
    const again = isReplacement ? "; it replaces the one that has registered the resource before" : "";
    this.decision(`accept the device plugin of ${resourceName}`, `${known}${again}`, "Register", SERVER);
  }
}

/** `2 of 3: gpu-0 gpu-2` */
function healthText({ all, healthy }: DeviceHealth): string {
  return `${healthy.size} of ${all?.size ?? 0}${healthy.size === 0 ? "" : `: ${devicesText(healthy)}`}`;
}

/** `gpu-0 gpu-1` */
function devicesText(devices: Iterable<string>): string {
  const all = [...devices];
  const more = all.length > MAX_NAMED ? ` and ${all.length - MAX_NAMED} more` : "";
  return `${all.slice(0, MAX_NAMED).join(" ")}${more}`;
}
