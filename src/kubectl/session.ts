import type { KubeClient } from "../client-go/rest/client.js";
import type { ProcessContext, ProcessStreams, Program } from "../testbed/context.js";
import type { Clock } from "../util/clock.js";

/** The process, as far as the small kubectl needs it. */
export interface KubectlContext extends ProcessContext {
  readonly streams: ProcessStreams;
  /** runs `kubelab exec` for `kubectl exec` */
  readonly program: Program;
  session(options: object): { readonly clock: Clock };
}

/** The state of one line of the built-in kubectl. */
export interface Session {
  readonly context: KubectlContext;
  readonly client: KubeClient;
  /** a client of the same cluster that requests tables */
  readonly tables: KubeClient;
  readonly namespace: string;
  /** path of the kubeconfig */
  readonly kubeconfig: string;
  readonly signal: AbortSignal;
  /** on stderr */
  warn(text: string): void;
}
