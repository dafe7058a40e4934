import type { Decoded, FieldTable, InitFields } from "../../../staging/apimachinery/protobuf/fields.js";
import type { UnaryRpc } from "../../../staging/cri/grpc/rpc.js";
import type { Clock } from "../../../util/clock.js";
import {
  type ContainerAllocateResponse,
  DEVICE_PLUGIN,
  type DevicePluginOptions,
  PRE_START_CONTAINER_TIMEOUT_MS,
} from "../../apis/deviceplugin/v1beta1.js";
import type { PluginClient } from "./plugin/client.js";

/** How long the devices of a plugin that is gone stay in the node's capacity. Mirrors endpointStopGracePeriod. */
export const ENDPOINT_STOP_GRACE_PERIOD_MS = 5 * 60_000;
/** Differs: upstream waits without a limit, and its sync loop waits with it. */
const CALL_TIMEOUT_MS = 30_000;

type Options = Decoded<typeof DevicePluginOptions>;

/**
 * The plugin of one resource, as the device manager calls it.
 * Mirrors endpointImpl in pkg/kubelet/cm/devicemanager/endpoint.go.
 */
export class DeviceEndpoint {
  #stopTimeMs: number | undefined;

  /** @param plugin undefined: it registered with an earlier kubelet, but not yet with this one */
  constructor(
    readonly clock: Clock,
    readonly resourceName: string,
    readonly plugin?: PluginClient,
    readonly options?: Options,
  ) {
    if (plugin === undefined) this.stop();
  }

  stop(): void {
    this.#stopTimeMs = this.clock.now();
  }

  stopGracePeriodExpired(): boolean {
    return this.#stopTimeMs !== undefined && this.clock.now() - this.#stopTimeMs > ENDPOINT_STOP_GRACE_PERIOD_MS;
  }

  /** The plugin's answer for these devices. @throws Error with the plugin's error, or with upstream's for an empty answer */
  async allocate(
    devicesIds: readonly string[],
    signal: AbortSignal,
  ): Promise<Decoded<typeof ContainerAllocateResponse>> {
    const request = { containerRequests: [{ devicesIds }] };
    const { containerResponses } = await this.#call(DEVICE_PLUGIN.allocate, request, CALL_TIMEOUT_MS, signal);
    const [response] = containerResponses;
    if (response !== undefined) return response;
    const empty = "&AllocateResponse{ContainerResponses:[]*ContainerAllocateResponse{},}";
    throw new Error(`no containers return in allocation response ${empty}`);
  }

  /** Lets the plugin prepare the devices before each start of the container. @throws Error */
  async preStartContainer(devicesIds: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#call(DEVICE_PLUGIN.preStartContainer, { devicesIds }, PRE_START_CONTAINER_TIMEOUT_MS, signal);
  }

  /** The devices that the plugin would choose. @throws Error */
  async getPreferredAllocation(
    availableDeviceIds: readonly string[],
    mustIncludeDeviceIds: readonly string[],
    allocationSize: number,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const request = { containerRequests: [{ availableDeviceIds, mustIncludeDeviceIds, allocationSize }] };
    const answer = await this.#call(DEVICE_PLUGIN.getPreferredAllocation, request, CALL_TIMEOUT_MS, signal);
    return answer.containerResponses[0]?.deviceIds ?? [];
  }

  async #call<Req extends FieldTable, Res extends FieldTable>(
    rpc: UnaryRpc<Req, Res>,
    request: InitFields<Req>,
    timeoutMs: number,
    signal: AbortSignal,
  ) {
    if (this.plugin === undefined || this.#stopTimeMs !== undefined) {
      throw new Error(`endpoint ${this.resourceName} has been stopped`);
    }
    const result = await this.plugin.channel.call(rpc, request, { timeoutMs, signal });
    if (result.outcome === "ok") return result.value;
    throw new Error(result.text);
  }
}
