import type { RestConfig } from "../client-go/rest/client.js";
import type { Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import type { Random } from "../util/random.js";
import type { WatchBacklog } from "./storage/storage.js";

export interface ControlPlaneOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly trace: Trace;
  /** `1.25` … `1.34` */
  readonly kubeVersion: string;
  /** default 127.0.0.1 */
  readonly host?: string;
  /** 0 (default): a free one */
  readonly port?: number;
  /** names of controllers to leave out, for tests; `*`: all */
  readonly withoutControllers?: readonly string[];
  /** when slow watchers are disconnected, for tests */
  readonly watchBacklog?: Partial<WatchBacklog>;
  /** how long certificates are valid that the signer issues, when the request does not say; ms, default one year */
  readonly clusterSigningDurationMs?: number;
  /**
   * What the cluster of the recordings was like: the rights without what `kubeadm init` adds for `kubeadm join`, RSA keys,
   * no endpoints of the service `kubernetes` (upstream refuses loopback addresses).
   */
  readonly likeRecorded?: boolean;
  /**
   * Also listens there without TLS, on 127.0.0.1, where everybody is `system:unsecured` and may do everything; 0: a free
   * port. Default: it does not.
   */
  readonly plainHttpPort?: number;
  /** Kubelets are asked over plain HTTP. */
  readonly kubeletPlainHttp?: boolean;
  /** PEM of the CA of kubelets' serving certificates; absent: they are not checked, as upstream without the flag */
  readonly kubeletCaPem?: string;
  /** kubelets' serving certificates are checked with this cluster's own CA, which signs them on request; default false */
  readonly verifyKubelets?: boolean;
  /**
   * Addresses of nodes that may be dialled for logs, exec and the like, beside those of this machine. Any other is answered
   * as if nobody listened there.
   */
  readonly allowKubeletAddresses?: readonly string[];
}

/** An embedded control plane: an API server on loopback and its controllers. Reached only over HTTPS. */
export interface ControlPlane {
  /** `https://127.0.0.1:PORT` */
  readonly url: string;
  readonly caPem: string;
  /** `http://127.0.0.1:PORT`, where it was asked for */
  readonly plainUrl?: string;
  /** an administrator (system:masters) */
  readonly admin: RestConfig;
  /** Stops controllers, ends watches, closes sockets. Safe to call twice. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
