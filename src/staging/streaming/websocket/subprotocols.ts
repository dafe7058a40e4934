/**
 * The WebSocket subprotocols of Kubernetes.
 *
 * Mirrors k8s.io/apiserver/pkg/util/wsstream/conn.go and k8s.io/apimachinery/pkg/util/remotecommand/constants.go.
 */
import type { IncomingMessage } from "node:http";

/** v4 with a message that closes a channel: since 1.29, only between clients and the API server. */
export const V5 = "v5.channel.k8s.io";
/** the error channel carries a Status */
export const V4 = "v4.channel.k8s.io";
export const V4_BASE64 = "v4.base64.channel.k8s.io";
/** the error channel carries text, and nothing on success */
const V1 = "channel.k8s.io";
const V1_BASE64 = "base64.channel.k8s.io";
/** The subprotocol of a client that names none: as `channel.k8s.io`. */
export const UNNAMED = "";
/** kubectl's port-forward since 1.31: SPDY inside binary messages. */
export const TUNNEL_PREFIX = "SPDY/3.1+";
export const PORT_FORWARD_TUNNEL = `${TUNNEL_PREFIX}portforward.k8s.io`;

/**
 * The subprotocols of kubelets and container runtimes. Mirrors createWebSocketStreams in
 * pkg/kubelet/cri/streaming/remotecommand.
 */
export const REMOTE_COMMAND_SUBPROTOCOLS = [UNNAMED, V1, V1_BASE64, V4, V4_BASE64];
/** Mirrors handleWebSocketStreams in pkg/kubelet/cri/streaming/portforward/websocket.go. */
export const PORT_FORWARD_SUBPROTOCOLS = [UNNAMED, V4, V4_BASE64];

/** The encoding of a message's channel: its first byte, or a digit before base64. */
export type ChannelCodec = "binary" | "base64";

export function codecOf(subprotocol: string): ChannelCodec {
  return subprotocol === V1_BASE64 || subprotocol === V4_BASE64 ? "base64" : "binary";
}

/** Whether one side can close a single channel. */
export function hasCloseSignal(subprotocol: string): boolean {
  return subprotocol === V5;
}

/** The client's subprotocols, in its order; without any, the unnamed one. */
export function offeredSubprotocols({ headers }: Pick<IncomingMessage, "headers">): string[] {
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((one) => one.trim());
  const named = offered.filter((one) => one !== "");
  return named.length === 0 ? [UNNAMED] : named;
}

/** The first of the client's subprotocols that the server supports. Mirrors handshake in wsstream/conn.go. */
export function chooseSubprotocol(offered: readonly string[], supported: readonly string[]): string | undefined {
  return offered.find((one) => supported.includes(one));
}

/** Mirrors IsWebSocketRequest in wsstream/conn.go. */
export function isWebSocketRequest({ headers }: Pick<IncomingMessage, "headers">): boolean {
  if (headers.upgrade?.toLowerCase() !== "websocket") return false;
  return /(?:^|,\s*)upgrade(?:$|\s*,)/.test((headers.connection ?? "").toLowerCase());
}
