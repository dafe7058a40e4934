import { isIP } from "node:net";
import { Client, credentials } from "@grpc/grpc-js";
import type { Endpoint } from "./endpoint.js";
import { MAX_MESSAGE_BYTES } from "./status.js";

/** Lists of a thousand containers arrive without waiting for window updates. */
const WINDOW_BYTES = 4 * 1024 * 1024;

const OPTIONS = {
  "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
  "grpc-node.flow_control_window": WINDOW_BYTES,
  // Statistics that are not used.
  "grpc.enable_channelz": 0,
  // Closing the channel closes its connection.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_http_proxy": 0,
  "grpc.service_config_disable_resolution": 1,
};

/**
 * A client of grpc-js that connects on its first call.
 * Mirrors pkg/kubelet/cri/remote/remote_runtime.go (NewRemoteRuntimeService): no TLS, messages of up to 16 MB.
 */
export function openGrpcClient(endpoint: Endpoint): Client {
  return new Client(targetOf(endpoint), credentials.createInsecure(), OPTIONS);
}

function targetOf(endpoint: Endpoint): string {
  if (endpoint.kind === "unix") return `unix:${endpoint.path}`;
  const { host, port } = endpoint;
  switch (isIP(host)) {
    case 4:
      return `ipv4:${host}:${port}`;
    case 6:
      return `ipv6:[${host}]:${port}`;
    default:
      return `dns:${host}:${port}`;
  }
}
