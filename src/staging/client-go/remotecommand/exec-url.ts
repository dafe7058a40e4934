import type { RemoteCommandOptions } from "../../streaming/remote-command/session.js";
import { objectPath, PODS } from "../rest/paths.js";

/** A container of a pod, and what connects to it. */
export interface ExecTarget {
  readonly namespace: string;
  readonly name: string;
  readonly subresource: "exec" | "attach";
  /** empty: the API server chooses the only one */
  readonly container: string;
  /** the command and its arguments; default: none, for attach */
  readonly words?: readonly string[] | undefined;
}

/**
 * The URL of exec and attach, without the server's address:
 * `/api/v1/namespaces/default/pods/web/exec?command=ls&command=%2F&container=c&stdout=true`.
 * Mirrors ExecOptions.Run in k8s.io/kubectl/pkg/cmd/exec and PodExecOptions in k8s.io/api/core/v1, in client-go's order.
 */
export function execUrl(target: ExecTarget, streams: RemoteCommandOptions): string {
  const { namespace, name, subresource, container, words = [] } = target;
  const query = new URLSearchParams();
  for (const word of words) query.append("command", word);
  if (container !== "") query.append("container", container);
  for (const name of ["stderr", "stdin", "stdout", "tty"] as const) if (streams[name]) query.append(name, "true");
  return `${objectPath({ ...PODS, namespace }, name, subresource)}?${query}`;
}
