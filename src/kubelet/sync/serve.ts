import { join } from "node:path";
import { goDuration } from "../../apimachinery/time.js";
import { runCertificateManager } from "../../client-go/certificate/manager.js";
import { factFor } from "../../release/facts.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { openCertificateStore } from "../certificate/certificate-store.js";
import { kubeletServerCertificate } from "../certificate/kubelet.js";
import { selfSignedServingPair } from "../certificate/serving.js";
import { FILE_CHECK_FREQUENCY_MS } from "../config/file.js";
import { HTTP_CHECK_FREQUENCY_MS } from "../config/http.js";
import type { Kubelet } from "../kubelet.js";
import { DEFAULT_LOG_ROTATE_POLICY } from "../logs/container-log-manager.js";
import { DEFAULT_CLUSTER_DNS } from "../network/dns.js";
import type { KubeletOptions } from "../options.js";
import { KubeletAuth, WEBHOOK_TTL_MS } from "../server/kubelet-auth.js";
import { KubeletHost } from "../server/kubelet-host.js";
import { KUBELET_PORT, KubeletServer } from "../server/server.js";

/** Nothing of kubelab can be reached from another machine. */
const LISTEN_ADDRESS = "127.0.0.1";

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
 * with `rotateServerCertificates`, gets one from the cluster; no connection succeeds until `rotate` has it.
 *
 * Mirrors startKubelet in cmd/kubelet/app/server.go (ListenAndServe), InitializeTLS and BuildAuth.
 * @throws LabError USAGE when the port is taken, BAD_FILE for a certificate that cannot be read or written
 */
export async function openServer(kubelet: Kubelet): Promise<OpenServer> {
  const { podManager, statusManager, runtime, loop, options, ctx, client } = kubelet;
  const { cri, agent } = kubelet.deps;
  const { clock, trace } = ctx;
  const { nodeName, rootDir, kubeVersion } = options;
  const addresses = [LISTEN_ADDRESS, ...agent.addresses.map(({ address }) => address)];
  const folder = join(rootDir, "pki");
  // A folder of its own, because the client certificate's files have the same names.
  const store =
    options.rotateServerCertificates === true ? await openCertificateStore(join(folder, "serving")) : undefined;
  const pair =
    store === undefined
      ? await selfSignedServingPair(ctx, { certDirectory: folder, host: nodeName, addresses })
      : undefined;
  const host = new KubeletHost(
    {
      podManager,
      statusManager,
      runtime,
      service: cri.runtime,
      summaryProvider: kubelet.summaryProvider,
      clock,
      trace,
      latestLoopEntryMs: () => loop.lastIterationMs,
    },
    { nodeName, configuration: () => configurationOf(options, LISTEN_ADDRESS, server.port) },
  );
  const { caPem } = client.config;
  const auth = new KubeletAuth({ client, clock, trace }, { nodeName, ...defined({ clientCaPem: caPem }) });
  const listen = (port: number) =>
    KubeletServer.listen(
      { host, auth, clock, trace },
      { address: LISTEN_ADDRESS, port, transport: pair === undefined ? {} : { pair } },
    );
  const orAnother = (error: unknown) => {
    if (error instanceof LabError && error.code === "USAGE") return listen(0);
    throw error;
  };
  const server = await (options.port === undefined ? listen(KUBELET_PORT).catch(orAnother) : listen(options.port));
  const text = `The kubelet listens at ${server.url}.`;
  trace.emit({ kind: "note", text }, { actor: "kubelet" });
  const close = async () => {
    await server.close();
    await auth.close();
  };
  const rotate = (signal: AbortSignal) => {
    if (store === undefined) return Promise.resolve();
    const config = kubeletServerCertificate(
      { store, onCertificate: (fresh) => server.useCertificate(fresh) },
      { nodeName, kubeVersion, addresses: [nodeName, ...addresses] },
    );
    return runCertificateManager(ctx, config, signal);
  };
  return { port: server.port, url: server.url, rotate: store === undefined ? undefined : rotate, close };
}

/** The fields of kubelet.config.k8s.io/v1beta1 that this kubelet supports, as it uses them. @param port of its server */
function configurationOf(options: KubeletOptions, address: string, port: number): Readonly<Record<string, unknown>> {
  const { kubeVersion, rotateServerCertificates, manifestDir, manifestUrl } = options;
  const { clusterDns, clusterDomain } = { ...DEFAULT_CLUSTER_DNS, ...options };
  const { maxSize, maxFiles } = options.logRotatePolicy ?? DEFAULT_LOG_ROTATE_POLICY;
  const { token, authorized, unauthorized } = WEBHOOK_TTL_MS;
  return {
    address,
    port,
    ...(rotateServerCertificates === true ? { serverTLSBootstrap: true } : {}),
    ...defined({ staticPodPath: manifestDir, staticPodURL: manifestUrl }),
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true, cacheTTL: goDuration(token) } },
    authorization: {
      mode: "Webhook",
      webhook: { cacheAuthorizedTTL: goDuration(authorized), cacheUnauthorizedTTL: goDuration(unauthorized) },
    },
    clusterDomain,
    clusterDNS: clusterDns,
    syncFrequency: goDuration(factFor("podResyncInterval", kubeVersion)),
    fileCheckFrequency: goDuration(FILE_CHECK_FREQUENCY_MS),
    httpCheckFrequency: goDuration(HTTP_CHECK_FREQUENCY_MS),
    nodeStatusUpdateFrequency: goDuration(factFor("nodeStatusUpdateFrequency", kubeVersion)),
    nodeStatusReportFrequency: goDuration(factFor("nodeStatusReportFrequency", kubeVersion)),
    nodeLeaseDurationSeconds: factFor("leaseDurationSeconds", kubeVersion),
    containerLogMaxSize: String(maxSize),
    containerLogMaxFiles: maxFiles,
    serializeImagePulls: true,
  };
}
