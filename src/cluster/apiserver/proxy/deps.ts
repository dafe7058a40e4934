import type { Trace } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";
import type { Random } from "../../../util/random.js";
import type { KubeletConnections } from "./kubelet-connection.js";

/** The dependencies of the handlers that proxy to kubelets. */
export interface ProxyDeps {
  readonly connections: KubeletConnections;
  readonly clock: Clock;
  /** chooses the endpoint of a service */
  readonly random: Random;
  readonly trace: Trace;
  /** `1.25` */
  readonly kubeVersion: string;
}
