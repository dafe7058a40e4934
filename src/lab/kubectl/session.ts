import type { KubeClient } from "../../staging/client-go/rest/client.js";
import type { ProcessContext, ProcessStreams, Program } from "../../testbed/context.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { KubectlLine } from "./flags.js";

/** The parts of the process that the small kubectl needs. */
export interface KubectlContext extends ProcessContext {
  readonly streams: ProcessStreams;
  /** runs `kubelab exec` for `kubectl exec` */
  readonly program: Program;
  session(options: object): { readonly clock: Clock };
  /** sets the exit code, unless an error occurs */
  exitWith(code: number): void;
}

/** The state of one line of the built-in kubectl. */
export interface Session {
  readonly context: KubectlContext;
  readonly client: KubeClient;
  /** a client of the same cluster that requests tables */
  readonly tables: KubeClient;
  readonly clock: Clock;
  /** Unix ms on the cluster's clock, which can be faster than the machine's: for ages */
  serverNow(): Promise<number>;
  /** reports the requests, for `-v=6` */
  readonly trace: Trace;
  readonly userAgent: string;
  readonly namespace: string;
  /** path of the kubeconfig */
  readonly kubeconfig: string;
  readonly signal: AbortSignal;
  /** on stdout */
  print(text: string): void;
  /** one line on stderr */
  warn(text: string): void;
}

/** What a verb does; it prints its result. */
export type Verb = (session: Session, line: KubectlLine) => Promise<void>;
