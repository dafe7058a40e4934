import type { KubeClient } from "../client-go/rest/client.js";
import type { ProcessContext, ProcessStreams, Program } from "../testbed/context.js";
import type { Clock } from "../util/clock.js";

/** What the small kubectl needs of the process. */
export interface KubectlContext extends ProcessContext {
  readonly streams: ProcessStreams;
  /** runs `kubelab exec` for `kubectl exec` */
  readonly program: Program;
  session(options: object): { readonly clock: Clock };
}

/** What a line of the built-in kubectl works with. */
export interface Session {
  readonly context: KubectlContext;
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
