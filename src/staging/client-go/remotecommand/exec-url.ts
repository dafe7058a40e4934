import type { RemoteCommandOptions } from "../../streaming/remote-command/session.js";

/**
 * The query of the URL of exec and attach: `command=ls&command=%2F&container=web&stdout=true`.
 * Mirrors PodExecOptions and PodAttachOptions in k8s.io/api/core/v1, in client-go's order.
 */
export function streamQuery(container: string, streams: RemoteCommandOptions, words: readonly string[] = []): string {
  const query = new URLSearchParams();
  for (const word of words) query.append("command", word);
  if (container !== "") query.append("container", container);
  for (const name of ["stderr", "stdin", "stdout", "tty"] as const) if (streams[name]) query.append(name, "true");
  return query.toString();
}
