import { type ChannelOptions, Client, credentials, experimental } from "@grpc/grpc-js";
import type { Endpoint } from "./endpoint.js";
import { MAX_MESSAGE_BYTES } from "./status.js";

/** Lists of a thousand containers arrive without waiting for window updates. */
const WINDOW_BYTES = 4 * 1024 * 1024;

const OPTIONS: ChannelOptions = {
  "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
  "grpc-node.flow_control_window": WINDOW_BYTES,
  // Statistics that are not used.
  "grpc.enable_channelz": 0,
  // Closing the channel closes its connection.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_http_proxy": 0,
};

const SCHEME = "cri";
const ADDRESS = "kubelab.address";

/**
 * A client of grpc-js that connects on its first call.
 * Mirrors pkg/kubelet/cri/remote/remote_runtime.go (NewRemoteRuntimeService): no TLS, messages of up to 16 MB.
 * @param signal aborts an attempt to connect. Closing a client does not, and the attempt would keep the process alive.
 */
export function openGrpcClient(endpoint: Endpoint, signal: AbortSignal): Client {
  experimental.registerResolver(SCHEME, EndpointResolver);
  const address = endpoint.kind === "unix" ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port };
  const options = { ...OPTIONS, [ADDRESS]: withSignal(address, signal) };
  return new Client(`${SCHEME}:${endpoint.url}`, credentials.createInsecure(), options);
}

/**
 * An address whose attempts to connect end with the signal. A closed client still makes the attempt that it has scheduled, so
 * reading the signal afterwards fails: net.connect would connect, and leave the connection open.
 */
function withSignal(address: object, signal: AbortSignal): object {
  return Object.defineProperty({ ...address }, "signal", {
    enumerable: true,
    get: () => {
      signal.throwIfAborted();
      return signal;
    },
  });
}

/** Resolves to the address in the channel's options, which grpc-js passes to net.connect as it is. */
class EndpointResolver implements experimental.Resolver {
  #isResolved = false;

  static getDefaultAuthority(): string {
    return "localhost";
  }

  constructor(
    _target: unknown,
    readonly listener: experimental.ResolverListener,
    readonly options: ChannelOptions,
  ) {}

  updateResolution(): void {
    if (this.#isResolved) return;
    this.#isResolved = true;
    const endpoints = experimental.statusOrFromValue([{ addresses: [this.options[ADDRESS]] }]);
    process.nextTick(this.listener, endpoints, {}, null, "");
  }

  destroy(): void {
    this.#isResolved = false;
  }
}
