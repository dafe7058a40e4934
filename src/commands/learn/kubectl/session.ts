import type { CliContext } from "../../../cli/context.js";
import type { KubeClient } from "../../../client-go/rest/client.js";

/** What a line of the built-in kubectl works with. */
export interface Session {
  readonly context: CliContext;
  readonly client: KubeClient;
  /** the same cluster, asked for tables */
  readonly tables: KubeClient;
  readonly namespace: string;
  /** path of the kubeconfig */
  readonly kubeconfig: string;
  readonly signal: AbortSignal;
  /** on stderr */
  warn(text: string): void;
}
