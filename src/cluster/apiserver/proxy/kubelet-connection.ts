import type { RequestOptions } from "node:https";
import { createSecureContext } from "node:tls";
import type { V1Node, V1NodeAddress } from "@kubernetes/client-node";
import { internalError } from "../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import type { KeyPair } from "../../../staging/pki/authority.js";
import { BackendUnreachable } from "../../../staging/server/proxy/backend.js";
import { connectionRefused } from "../../../staging/server/proxy/go-errors.js";
import type { Clock } from "../../../util/clock.js";
import { connectTcp } from "../../../util/net/connect-tcp.js";
import { isLocalAddress } from "../../../util/net/local-address.js";
import { type TlsServer, TlsSessions } from "../../../util/net/tls-sessions.js";
import type { Registry } from "../registry/rest/registry.js";
import { joinHostPort } from "./go-url.js";

export interface KubeletClientOptions {
  /** connect to kubelets without TLS and without credentials; default false */
  readonly plainHttp?: boolean;
  /** the API server's client certificate for kubelets; created on first use */
  clientCertificate(): Promise<KeyPair>;
  /** PEM; absent: kubelet certificates are not verified, like upstream without `--kubelet-certificate-authority` */
  readonly kubeletCaPem?: string;
  /** addresses that may be dialled in addition to those of this machine */
  readonly allowKubeletAddresses?: readonly string[];
  /** the nodes that a partition separates from the API server, and how */
  readonly partitions?: ReadonlyMap<string, "drop" | "refuse">;
  readonly clock: Clock;
}

/** Where a kubelet listens, and how that address was chosen. */
export interface KubeletInfo {
  readonly nodeName: string;
  /** `127.0.0.1:10250` */
  readonly address: string;
  readonly host: string;
  readonly port: number;
  /** false: report a refused connection without dialling */
  readonly mayDial: boolean;
  /** `InternalIP` */
  readonly addressType: string;
  readonly scheme: "http" | "https";
}

/**
 * `--kubelet-preferred-address-types`: kubeadm's, after ExternalDNS. The nodes of kubelab are in a network that this server is
 * not in; from here, their kubelets are at `localhost`.
 */
const PREFERRED_ADDRESS_TYPES = ["ExternalDNS", "InternalIP", "ExternalIP", "Hostname"];
/** Mirrors the dialer's timeout in k8s.io/client-go/transport/cache.go (tlsTransportCache.get). */
const DIAL_TIMEOUT_MS = 30_000;
/** Mirrors ports.KubeletPort: the default for nodes that report no port. */
const DEFAULT_PORT = 10_250;

/**
 * How the API server reaches kubelets.
 *
 * Mirrors pkg/kubelet/client/kubelet_client.go (NodeConnectionInfoGetter, MakeTransport).
 * Differs: it only dials this machine's own addresses and those in `allowKubeletAddresses`, so that a learner's Node
 * object cannot make it connect to other hosts. For any other address it reports a refused connection.
 */
export class KubeletConnections {
  #verifying: Promise<TlsSessions> | undefined;
  #trusting: Promise<TlsSessions> | undefined;

  constructor(readonly options: KubeletClientOptions) {}

  /** @throws StatusError 404 if the node does not exist, 500 if it has no address */
  async infoFor(registry: Registry, nodeName: string): Promise<KubeletInfo> {
    const node = await registry.store("nodes").get(undefined, nodeName);
    const { type, address } = preferredAddress(node);
    const port = portOf(node);
    return {
      nodeName,
      address: joinHostPort(address, port),
      host: address,
      port,
      mayDial: isLocalAddress(address) || (this.options.allowKubeletAddresses ?? []).includes(address),
      addressType: type,
      scheme: this.scheme,
    };
  }

  /** Waits as long as a connection to a node behind a partition takes to fail. @throws BackendUnreachable */
  async checkReachable({ nodeName, address, mayDial }: KubeletInfo, signal: AbortSignal): Promise<void> {
    const { partitions, clock } = this.options;
    const partition = partitions?.get(nodeName);
    if (!mayDial || partition === "refuse") throw new BackendUnreachable(connectionRefused(address));
    if (partition === undefined) return;
    // A client that leaves ends the wait.
    await clock.sleep(DIAL_TIMEOUT_MS, signal).catch(() => {});
    throw new BackendUnreachable(`dial tcp ${address}: i/o timeout`);
  }

  /** `http` or `https` */
  get scheme(): "http" | "https" {
    return this.options.plainHttp === true ? "http" : "https";
  }

  /** @param skipVerify set when the client requested a log with `insecureSkipTLSVerifyBackend` */
  async requestOptions({ host, port }: KubeletInfo, skipVerify = false): Promise<RequestOptions> {
    const { kubeletCaPem, plainHttp } = this.options;
    if (plainHttp === true) return { host, port, createConnection: connectTcp };
    const sessions = await this.#sessionsOf(skipVerify ? undefined : kubeletCaPem);
    return { host, port, defaultPort: 443, createConnection: (server: TlsServer) => sessions.connect(server) };
  }

  /**
   * The key pair is read once, and TLS sessions are resumed per kubelet. Verified connections use separate sessions,
   * because a resumed session is not verified again.
   * @param ca undefined: any certificate is accepted
   */
  #sessionsOf(ca: string | undefined): Promise<TlsSessions> {
    if (ca === undefined) {
      this.#trusting ??= this.#sessions(undefined);
      return this.#trusting;
    }
    this.#verifying ??= this.#sessions(ca);
    return this.#verifying;
  }

  async #sessions(ca: string | undefined): Promise<TlsSessions> {
    const { certificatePem, privateKeyPem } = await this.options.clientCertificate();
    const secureContext = createSecureContext({
      cert: certificatePem,
      key: privateKeyPem,
      ...(ca === undefined ? {} : { ca }),
    });
    return new TlsSessions({ secureContext, rejectUnauthorized: ca !== undefined });
  }
}

/** Mirrors GetPreferredNodeAddress in pkg/util/node/node.go. @throws StatusError 500 */
function preferredAddress({ status }: Wire<V1Node>): Wire<V1NodeAddress> {
  const addresses = status?.addresses ?? [];
  for (const type of PREFERRED_ADDRESS_TYPES) {
    const found = addresses.find((one) => one.type === type);
    if (found !== undefined) return found;
  }
  const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(" ");
  throw internalError(`no preferred addresses found; known addresses: [${known}]`);
}

function portOf({ status }: Wire<V1Node>): number {
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port;
  return port !== undefined && port > 0 && port < 65_536 ? port : DEFAULT_PORT;
}
