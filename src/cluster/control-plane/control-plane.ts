import type { LocalClient } from "../../staging/client-go/dynamic/interface.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import type { Ctx } from "../../trace/ctx.js";
import type { Trace } from "../../trace/trace.js";
import type { Exchange } from "../apiserver/endpoints/exchange.js";
import type { ServerFaults } from "../apiserver/endpoints/faults/server-faults.js";
import type { DiskConfig } from "../apiserver/storage/disk/config.js";
import type { EtcdConfig } from "../apiserver/storage/etcd/config.js";
import type { WatchBacklog } from "../apiserver/storage/storage.js";
import type { DnsPorts } from "./cluster-dns.js";
import type { NodeNames } from "./node-names.js";

export interface ControlPlaneOptions extends Ctx {
  /** `1.25` … `1.34` */
  readonly kubeVersion: string;
  /** default 127.0.0.1 */
  readonly host?: string;
  /** 0 (default): a free port */
  readonly port?: number;
  /** serves HTTP/2 to clients that choose it in the handshake; default false */
  readonly http2?: boolean;
  /** names of controllers to leave out, for tests; `*`: all */
  readonly withoutControllers?: readonly string[];
  /** keeps the cluster here; default: in memory. One that is there already is continued, with its CA and keys. */
  readonly etcd?: EtcdConfig;
  /** aborts when the cluster begins to end: an etcd that is dead then has no second chance */
  readonly ending?: AbortSignal;
  /** `etcd`, but in a folder of this machine, for one process */
  readonly disk?: DiskConfig;
  /**
   * Names this server among those of its etcd. A server that starts again under its old ID is leader again at once; the old
   * process must have ended. Default: a random one, as upstream.
   */
  readonly serverId?: string;
  /** when slow watchers are disconnected, for tests */
  readonly watchBacklog?: Partial<WatchBacklog>;
  /** validity of the signer's certificates when the request names none; ms, default one year */
  readonly clusterSigningDurationMs?: number;
  /**
   * Imitates the cluster of the recordings: no rights that `kubeadm init` adds for `kubeadm join`, RSA keys, no
   * endpoints of the service `kubernetes` (upstream refuses loopback addresses).
   */
  readonly likeRecorded?: boolean;
  /** Where the cluster's name server listens; absent: the cluster has none. */
  readonly clusterDns?: DnsPorts;
  /**
   * Also listens on this port without TLS, on 127.0.0.1. Every client there is `system:unsecured`, with all rights. 0:
   * a free port. Default: no such port.
   */
  readonly plainHttpPort?: number;
  /** Calls kubelets over plain HTTP. */
  readonly kubeletPlainHttp?: boolean;
  /** PEM of the CA of kubelets' serving certificates; absent: they are not verified, as upstream without the flag */
  readonly kubeletCaPem?: string;
  /** verifies kubelets' serving certificates with this cluster's own CA, which signs them on request; default false */
  readonly verifyKubelets?: boolean;
  /**
   * Addresses of nodes that the API server dials for logs, exec and the like, in addition to those of this machine. It
   * treats all other addresses as if nothing listened there.
   */
  readonly allowKubeletAddresses?: readonly string[];
  /** faults of the API server, for labs and scenarios */
  readonly faults?: ServerFaults;
  /** sees each request over HTTPS when it arrives, before any filter; its result is called when it is answered */
  readonly onRequest?: (exchange: Exchange) => () => void;
}

/** An embedded control plane: an API server on loopback and its controllers. Reached over HTTPS; see `loopback` for the exception. */
export interface ControlPlane extends AsyncDisposable {
  /** `https://127.0.0.1:PORT` */
  readonly url: string;
  readonly caPem: string;
  /** `http://127.0.0.1:PORT`, if requested */
  readonly plainUrl?: string;
  /** for the nodes that start with this server */
  readonly nodeNames: NodeNames;
  /** an administrator (system:masters) */
  readonly admin: RestConfig;
  /**
   * A client of an administrator without sockets, for what runs in this process in great numbers and waits for its turn with the
   * controllers. Mirrors the loopback client of the API server. @param trace gets its requests
   */
  loopback(trace: Trace): LocalClient;
  /** Makes the credentials with which the cluster's name server reads services. */
  dnsCredentials(): Promise<RestConfig>;
  /** Stops controllers, ends watches, closes sockets. Safe to call twice. */
  close(): Promise<void>;
}
