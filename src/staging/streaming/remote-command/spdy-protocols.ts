import type { RemoteCommandOptions } from "./session.js";

/**
 * The versions of the remote command protocol over SPDY, newest first: v2 repaired the error stream, v3 added resizes,
 * v4 a Status with an exit code.
 *
 * Mirrors k8s.io/apimachinery/pkg/util/remotecommand/constants.go (SupportedStreamingProtocols).
 */
export const SPDY_REMOTE_COMMAND_PROTOCOLS: readonly string[] = [
  "v4.channel.k8s.io",
  "v3.channel.k8s.io",
  "v2.channel.k8s.io",
  "channel.k8s.io",
];

/** Mirrors k8s.io/api/core/v1 (StreamTypeError, ...): the values of the `streamtype` header. */
export type StreamType = "error" | "stdin" | "stdout" | "stderr" | "resize";

/**
 * The streams of a remote command, in the order in which upstream's client opens them. Mirrors
 * client-go/tools/remotecommand/v2.go and v3.go (createStreams).
 */
export function streamTypes(options: RemoteCommandOptions, protocol: string): StreamType[] {
  const hasResizes = protocol === "v4.channel.k8s.io" || protocol === "v3.channel.k8s.io";
  return [
    "error",
    ...(options.stdin ? (["stdin"] as const) : []),
    ...(options.stdout ? (["stdout"] as const) : []),
    ...(options.stderr && !options.tty ? (["stderr"] as const) : []),
    ...(options.tty && hasResizes ? (["resize"] as const) : []),
  ];
}
