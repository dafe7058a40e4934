import type { Trace } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";
import type { KubeletConnections } from "./kubelet-connection.js";

/** The dependencies of the handlers that proxy to kubelets. */
export interface ProxyDeps {
  readonly connections: KubeletConnections;
  readonly clock: Clock;
  readonly trace: Trace;
  /** `1.25` */
  readonly kubeVersion: string;
}
