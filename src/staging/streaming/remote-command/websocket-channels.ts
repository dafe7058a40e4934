/** The channel numbers of a remote command. Mirrors k8s.io/apimachinery/pkg/util/remotecommand/constants.go. */
export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

const NAMES = ["stdin", "stdout", "stderr", "error", "resize"];

/** Names for traces. */
export function channelName(channel: number): string | undefined {
  return NAMES[channel];
}
