import type { Decoded } from "../../../../staging/apimachinery/protobuf/fields.js";
import { type CriChannel, openCriChannel } from "../../../../staging/cri/client.js";
import type { Trace } from "../../../../trace/trace.js";
import type { Clock } from "../../../../util/clock.js";
import { messageOf } from "../../../../util/errors.js";
import { DEVICE_PLUGIN, type Device, type DevicePluginOptions } from "../../../apis/deviceplugin/v1beta1.js";

/** The time limits for connecting to a plugin that registers, and for its answer. Mirrors dial. */
const DIAL_TIMEOUT_MS = 10_000;
/** Mirrors the base delay of google.golang.org/grpc/backoff. */
const DIAL_RETRY_MS = 1_000;

/**
 * The connection to one device plugin.
 * Mirrors pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go.
 */
export class PluginClient {
  readonly channel: CriChannel;

  constructor(
    readonly deps: { readonly clock: Clock; readonly trace: Trace },
    readonly resourceName: string,
    socketPath: string,
  ) {
    this.channel = openCriChannel(`unix://${socketPath}`, { ...deps, actor: "kubelet" });
  }

  /**
   * Connects, and reads the plugin's options. A plugin may register shortly before it listens.
   *
   * Mirrors Connect and the first part of PluginConnected in manager.go.
   * @throws Error in upstream's words; the signal's reason
   */
  async connect(signal: AbortSignal): Promise<Decoded<typeof DevicePluginOptions>> {
    const { clock } = this.deps;
    const endMs = clock.now() + DIAL_TIMEOUT_MS;
    for (;;) {
      const timeoutMs = DIAL_TIMEOUT_MS;
      const result = await this.channel.call(DEVICE_PLUGIN.getDevicePluginOptions, {}, { timeoutMs, signal });
      if (result.outcome === "ok") return result.value;
      if (result.outcome !== "unavailable") throw new Error(`failed to get device plugin options: ${result.text}`);
      if (clock.now() >= endMs) throw new Error("failed to dial device plugin: context deadline exceeded");
      await clock.sleep(DIAL_RETRY_MS, signal);
    }
  }

  /**
   * Passes each list of devices on, until the stream ends. Mirrors Run.
   * @returns the reason of its end
   */
  async run(receive: (devices: readonly Decoded<typeof Device>[]) => void, signal: AbortSignal): Promise<string> {
    try {
      for await (const { devices } of this.channel.stream(DEVICE_PLUGIN.listAndWatch, {}, { signal })) receive(devices);
      return "the plugin has ended the stream";
    } catch (error) {
      return messageOf(error);
    }
  }

  close(): Promise<void> {
    return this.channel.close();
  }
}
