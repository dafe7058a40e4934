import type { Trace } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";
import type { KubeletConnections } from "./kubelet-connection.js";

/** What passes requests on to kubelets works with. */
export interface ProxyDeps {
  readonly connections: KubeletConnections;
  readonly clock: Clock;
  readonly trace: Trace;
  /** `1.25` */
  readonly kubeVersion: string;
}
