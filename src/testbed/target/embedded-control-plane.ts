import type { ControlPlane, ControlPlaneOptions } from "../../cluster/control-plane/control-plane.js";
import type { DnsFaults } from "../../cluster/dns/dns-faults.js";
import type { DnsServer } from "../../cluster/dns/server.js";
import { type AnswerMessage, openDnsSockets } from "../../cluster/dns/sockets.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import type { Ctx } from "../../trace/ctx.js";
import { Disposables } from "../../util/async/disposables.js";
import { defined } from "../../util/defined.js";

const CLUSTER_DOMAIN = "cluster.local";

export interface EmbeddedOptions extends Omit<ControlPlaneOptions, "clusterDns"> {
  /** pods answer as `kube-dns` and query the name server; default: it answers itself */
  readonly dnsInPods?: boolean;
  /** faults that meet the name server's answers */
  readonly dnsFaults?: DnsFaults;
}

/**
 * Starts an embedded control plane with a name server for its services. The name server is loaded, and begins to watch, with the
 * first query.
 * @throws LabError as `startControlPlane`
 */
export async function startEmbeddedControlPlane(options: EmbeddedOptions): Promise<ControlPlane> {
  const open = new Disposables();
  try {
    const opening = openDnsSockets();
    const { startControlPlane } = await import("../../cluster/control-plane/start.js");
    const sockets = await opening;
    open.defer(() => sockets.close());
    const { udpPort, tcpPort } = sockets;
    const clusterDns = { udpPort, tcpPort, behindPods: options.dnsInPods === true };
    const controlPlane = await startControlPlane({ ...options, clusterDns });
    open.defer(() => controlPlane.close());
    const dns = new FirstQueryServer(options, options.dnsFaults, () => controlPlane.dnsCredentials());
    open.defer(() => dns.close());
    sockets.serve(dns.answer);
    const close = () => open.close();
    return { ...controlPlane, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await open.close();
    throw error;
  }
}

/** A name server that is loaded and started with its first query. */
class FirstQueryServer {
  #starting: Promise<DnsServer> | undefined;
  #isClosed = false;

  constructor(
    readonly ctx: Ctx,
    readonly faults: DnsFaults | undefined,
    readonly credentials: () => Promise<RestConfig>,
  ) {}

  readonly answer: AnswerMessage = async (message, transport) => {
    if (this.#isClosed) return undefined;
    this.#starting ??= this.#start();
    return (await this.#starting).answer(message, transport);
  };

  async #start(): Promise<DnsServer> {
    const { clock, random, trace } = this.ctx;
    const { startDnsServer } = await import("../../cluster/dns/server.js");
    const options = { zone: CLUSTER_DOMAIN, ...defined({ faults: this.faults }) };
    return startDnsServer({ clock, random, trace }, { config: await this.credentials(), ...options });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#starting)?.close();
  }
}
