import { join } from "node:path";
import { runCertificateManager } from "../../staging/client-go/certificate/manager.js";
import type { ServingPair } from "../../staging/server/serve.js";
import { defined } from "../../util/defined.js";
import type { KubeletConfiguration } from "../apis/config/defaults.js";
import { servingCertificateMetrics, ttlSeconds } from "../certificate/certificate-metrics.js";
import { openCertificateStore } from "../certificate/certificate-store.js";
import { kubeletServerCertificate } from "../certificate/kubelet.js";
import { selfSignedServingPair } from "../certificate/serving.js";
import { KubeletAuth } from "../server/kubelet-auth.js";
import { KubeletHost } from "../server/kubelet-host.js";
import { KubeletServer } from "../server/server.js";
import { NodeObserver } from "../sync/node-observer.js";
import { readCadvisorMetrics } from "./cadvisor-metrics.js";
import type { Kubelet } from "./kubelet.js";
import { readClientCa, readServingPair } from "./named-files.js";
import { LISTEN_ADDRESS, onAPort, openPlainServers, type PlainServers, type PortOptions } from "./plain-servers.js";

/** The kubelet's server, with its authentication and authorization. */
export interface OpenServer {
  readonly port: number;
  /** `https://127.0.0.1:10250` */
  readonly url: string;
  /** Requests its certificate and renews it, until the signal aborts; undefined: the server signed its own. */
  readonly rotate: ((signal: AbortSignal) => Promise<void>) | undefined;
  close(): Promise<void>;
}

/**
 * Starts the kubelet's server: HTTPS, for clients that the API server authorizes. It signs its certificate itself or,
 * with `serverTLSBootstrap`, gets one from the cluster; no connection succeeds until `rotate` has it.
 *
 * Mirrors startKubelet in cmd/kubelet/app/server.go (ListenAndServe), InitializeTLS and BuildAuth.
 * @throws LabError USAGE when the port is taken, BAD_FILE for a certificate that cannot be read or written
 */
export async function openServer(kubelet: Kubelet): Promise<OpenServer> {
  const { podManager, statusManager, runtime, loop, options, config, ctx, client } = kubelet;
  const { agent } = kubelet.deps;
  const { clock, trace } = ctx;
  const { nodeName, rootDir, kubeVersion } = options;
  const addresses = [LISTEN_ADDRESS, ...agent.addresses.map(({ address }) => address)];
  const folder = join(rootDir, "pki");
  // A folder of its own, because the client certificate's files have the same names.
  const store = config.serverTLSBootstrap === true ? await openCertificateStore(join(folder, "serving")) : undefined;
  const pair =
    store === undefined
      ? ((await readServingPair(config)) ??
        (await selfSignedServingPair(ctx, { certDirectory: folder, host: nodeName, addresses })))
      : undefined;
  const host = new KubeletHost(
    {
      podManager,
      statusManager,
      runtime,
      service: kubelet.cri.runtime,
      summaryProvider: kubelet.summaryProvider,
      metrics: kubelet.metrics,
      cadvisorMetrics: (signal) => readCadvisorMetrics(kubelet, signal),
      probeMetrics: () => kubelet.prober.metrics.text(),
      clock,
      trace,
      latestLoopEntryMs: () => loop.lastIterationMs,
    },
    { nodeName, logsFolder: join(rootDir, "log"), configuration: () => inForce(config, server, plain) },
  );
  const clientCaPem = (await readClientCa(config)) ?? client.config.caPem;
  const auth = new KubeletAuth({ client, clock, trace }, { nodeName, config, ...defined({ clientCaPem }) });
  const surface = { debugging: config.enableDebuggingHandlers, systemLogs: config.enableSystemLogHandler };
  const server = await onAPort("port", options.port ?? config.port, fixed(options), (port) =>
    KubeletServer.listen(
      { host, auth, clock, trace, surface },
      { address: LISTEN_ADDRESS, port, transport: pair === undefined ? {} : { pair } },
    ),
  );
  const plain = await openPlainServers({ host, clock, trace }, config, options).catch(async (error: unknown) => {
    await server.close();
    throw error;
  });
  new NodeObserver(trace).listens(server.url, plain);
  const close = async () => {
    await Promise.all([server.close(), plain.close()]);
    await auth.close();
  };
  const rotate = (signal: AbortSignal) => {
    if (store === undefined) return Promise.resolve();
    let current: string | undefined;
    const onCertificate = (fresh: ServingPair) => {
      current = fresh.certificatePem;
      return server.useCertificate(fresh);
    };
    kubelet.metrics.collectWith(() =>
      kubelet.metrics.set("kubelet_certificate_manager_server_ttl_seconds", ttlSeconds(current, clock.now())),
    );
    const metrics = servingCertificateMetrics(kubelet.metrics);
    const config = kubeletServerCertificate(
      { store, onCertificate },
      { nodeName, kubeVersion, metrics, addresses: [nodeName, ...addresses] },
    );
    return runCertificateManager(ctx, config, signal);
  };
  return { port: server.port, url: server.url, rotate: store === undefined ? undefined : rotate, close };
}

/** A port that a caller names is fixed. */
function fixed({ port, fixedPorts = [] }: PortOptions): PortOptions {
  return { ...defined({ port }), fixedPorts: port === undefined ? fixedPorts : ["port", ...fixedPorts] };
}

/** The configuration with the ports that are in use. */
function inForce(config: KubeletConfiguration, server: KubeletServer, plain: PlainServers): KubeletConfiguration {
  const { healthzPort, readOnlyPort } = plain;
  return { ...config, port: server.port, ...defined({ healthzPort, readOnlyPort }) };
}
