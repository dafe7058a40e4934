import { createApiServerCertificate, createClientCertificate, type KeyPair } from "../../staging/pki/authority.js";
import type { CertificateAuthority } from "../../staging/pki/issue.js";
import type { AdmissionPlugin } from "../../staging/server/admission/interfaces.js";
import { asAuthenticated } from "../../staging/server/authentication/user.js";
import type { HealthCheck } from "../../staging/server/healthz.js";
import { Turns } from "../../util/async/turns.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { listenProblem } from "../../util/net/listen-problem.js";
import { createAdmission } from "../apiserver/admission/create-admission.js";
import { authorizedClient } from "../apiserver/auth/authorized-client.js";
import { type Auth, createAuth } from "../apiserver/auth/create-auth.js";
import { DispatchReport } from "../apiserver/endpoints/dispatch-report.js";
import { createConnecters } from "../apiserver/proxy/connecters.js";
import { KubeletConnections } from "../apiserver/proxy/kubelet-connection.js";
import { createActionHandlers } from "../apiserver/registry/action-handlers.js";
import { serveDefinitions } from "../apiserver/registry/apiextensions/serve-definitions.js";
import { createRegistry } from "../apiserver/registry/generic/create-registry.js";
import { createLocalClient } from "../apiserver/registry/generic/local-client.js";
import { METRICS_GROUP } from "../apiserver/registry/metrics/metrics.js";
import type { ResourceDefinition } from "../apiserver/registry/rest/definition.js";
import type { Registry } from "../apiserver/registry/rest/registry.js";
import { resourcesFor } from "../apiserver/registry/table.js";
import { type ApiServer, createApiServer } from "../apiserver/server/create-api-server.js";
import { MemoryStorage } from "../apiserver/storage/memory.js";
import type { Storage } from "../apiserver/storage/storage.js";
import { COREDNS_USER, dnsServices } from "./cluster-dns.js";
import { controllerChecks, type RunningControllers } from "./components.js";
import type { ControlPlane, ControlPlaneOptions } from "./control-plane.js";
import { startControllerManager } from "./controller-manager.js";
import { writeInitialObjects } from "./initial-objects.js";
import { ComputedMetrics } from "./metrics-server/computed-metrics.js";
import { ALL_NODE_NAMES, SharedNodeNames } from "./node-names.js";
import { type ClusterState, keyTypeOf, openState, stateProblem } from "./open-state.js";
import { apiServerService, keepService, writeService } from "./reconcilers/service-reconciler.js";

const DEFAULT_HOST = "127.0.0.1" as const;
/** The administrator, as kubeadm names it. */
const ADMIN = { commonName: "kubernetes-admin", organization: ["system:masters"] } as const;
/** The administrator without a certificate. */
const LOOPBACK_USER = asAuthenticated({ username: ADMIN.commonName, groups: ADMIN.organization });
/** The API server's identity towards kubelets, as kubeadm names it. */
const KUBELET_CLIENT = { commonName: "kube-apiserver-kubelet-client", organization: ["system:masters"] } as const;

/**
 * Starts an embedded control plane: storage, API server, controllers. The API server is ready when it resolves; the
 * controllers' first objects (service accounts, the CA's config map, cluster-info) follow right after.
 * @throws LabError USAGE when the port is taken; as `openState` and `stateProblem`
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  // Facts of servers and controllers belong to no step of the caller.
  return options.trace.detached(() => start(options), "start");
}

async function start(options: ControlPlaneOptions): Promise<ControlPlane> {
  // The recorded cluster has no metrics-server.
  const isServed = ({ group }: ResourceDefinition) => options.likeRecorded !== true || group !== METRICS_GROUP;
  const definitions = resourcesFor(options.kubeVersion).filter(isServed);
  const dispatches = new DispatchReport(options.trace);
  const opened = await openState(options, definitions, (event, watches) => dispatches.published(event, watches));
  const { faults, clock, trace } = options;
  const state = faults === undefined ? opened : { ...opened, storage: faults.writes.of(opened.storage, clock, trace) };
  try {
    return await startOn(options, state, definitions, dispatches);
  } catch (error) {
    await state.storage.close();
    throw await stateProblem(options, error);
  }
}

async function startOn(
  options: ControlPlaneOptions,
  state: ClusterState,
  definitions: readonly ResourceDefinition[],
  dispatches: DispatchReport,
): Promise<ControlPlane> {
  const identities = await createIdentities(options, state.ca);
  const parts = await createParts(options, state, definitions);
  const { clock, random, trace, kubeVersion, faults } = options;
  const custom = await serveDefinitions({ registry: parts.registry, clock, trace, kubeVersion });
  let controllers: RunningControllers | undefined;
  const components = [...controllerChecks(() => controllers), ...parts.storage.health.components];
  const listening = listen(options, identities, { ...parts, dispatches }, components);
  const apiServer = await listening.catch(async (error: unknown) => {
    await custom.close();
    throw error;
  });
  const { host = DEFAULT_HOST } = options;
  if (faults !== undefined) {
    const { ca, serving } = identities;
    faults.setCertificate = async (how) => {
      const { faultyServing } = await import("./faulty-serving.js");
      const pair = how === undefined ? serving : await faultyServing(ca, { clock, random }, how);
      apiServer.useCertificate({ certificatePem: pair.certificatePem, keyPem: pair.privateKeyPem });
    };
  }
  const { storage, registry } = parts;
  const deps = { storage, registry, clock, random, trace };
  const { likeRecorded, clusterDns } = options;
  const apiService = apiServerService(host, apiServer.port);
  const kept = likeRecorded === true ? [] : [await keepService(deps, apiService)];
  for (const own of clusterDns === undefined ? [] : dnsServices(clusterDns)) {
    if (storage.isShared) kept.push(await keepService(deps, own));
    else await writeService(deps, own);
  }
  const url = `https://${host}:${apiServer.port}`;
  const serverId = options.serverId ?? random.uuid();
  const { authorizer } = parts.auth;
  const turns = new Turns();
  const nodeNames = storage.isShared ? new SharedNodeNames(storage, serverId) : undefined;
  controllers = await startControllerManager(
    { ...options, serverId },
    identities.ca,
    { storage, registry, authorizer, turns },
    url,
  );
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= closeInOrder([
      // Without etcd nothing can be given back.
      async () => nodeNames?.release().catch(() => {}),
      async () => controllers?.close(),
      () => parts.metrics.close(),
      () => custom.close(),
      async () => void (await Promise.all(kept.map((service) => service.close()))),
      () => apiServer.close(),
      () => parts.auth.close(),
      () => parts.storage.close(),
    ]);
    return closed;
  };
  const { ca, admin } = identities;
  const { plainPort } = apiServer;
  return {
    url,
    ...(plainPort === undefined ? {} : { plainUrl: `http://${DEFAULT_HOST}:${plainPort}` }),
    caPem: ca.certificatePem,
    nodeNames: nodeNames ?? ALL_NODE_NAMES,
    admin: {
      server: url,
      caPem: ca.certificatePem,
      clientCertificatePem: admin.certificatePem,
      clientKeyPem: admin.privateKeyPem,
    },
    loopback: (trace) =>
      authorizedClient(createLocalClient(registry, LOOPBACK_USER), { registry, authorizer, trace, turns }),
    async dnsCredentials() {
      const pair = await createClientCertificate(ca, { clock, random }, COREDNS_USER);
      const { certificatePem: clientCertificatePem, privateKeyPem: clientKeyPem } = pair;
      return { server: url, caPem: ca.certificatePem, clientCertificatePem, clientKeyPem };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Identities {
  readonly ca: CertificateAuthority;
  readonly serving: KeyPair;
  readonly admin: KeyPair;
}

async function createIdentities(
  { clock, random, host = DEFAULT_HOST }: ControlPlaneOptions,
  ca: CertificateAuthority,
): Promise<Identities> {
  const deps = { clock, random };
  const [serving, admin] = await Promise.all([
    createApiServerCertificate(ca, deps, host === DEFAULT_HOST ? {} : { sans: { ip: [host] } }),
    createClientCertificate(ca, deps, ADMIN),
  ]);
  return { ca, serving, admin };
}

interface Parts {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly auth: Auth;
  readonly admission: readonly AdmissionPlugin[];
  readonly connections: KubeletConnections;
  readonly metrics: ComputedMetrics;
}

/** Everything behind the API server's socket, including a new cluster's objects. */
async function createParts(
  options: ControlPlaneOptions,
  { storage, ca, serviceAccountKeyPem }: ClusterState,
  definitions: readonly ResourceDefinition[],
): Promise<Parts> {
  const { clock, random, trace, kubeVersion } = options;
  const withKubeadmJoin = options.likeRecorded !== true;
  const clientCaPem = ca.certificatePem;
  await writeInitialObjects({
    storage,
    random,
    definitions,
    nowMs: clock.now(),
    kubeVersion,
    withKubeadmJoin,
    clientCaPem,
    clusterDns: options.clusterDns,
  });
  // Clients cannot read revisions of a half-made cluster.
  if (storage instanceof MemoryStorage) storage.compactReads(await storage.currentRevision());
  // Admission plugins read the registry, and the registry runs them, so the registry is passed lazily.
  const admission: AdmissionPlugin[] = [];
  const connections = kubeletConnections(options, ca);
  const metrics = new ComputedMetrics({ registry: () => registry, connections, clock, trace });
  const computedStore = (definition: ResourceDefinition) => metrics.store(definition);
  const storeDeps = { storage, clock, random, trace, admission, kubeVersion };
  const registry: Registry = createRegistry({ ...storeDeps, definitions, computedStore });
  const authDeps = { registry: () => registry, ca, clock, random, kubeVersion };
  const auth = createAuth(authDeps, {
    serviceAccountKeyType: keyTypeOf(options),
    ...defined({ serviceAccountKeyPem }),
  });
  admission.push(...createAdmission({ registry, auth, clock, random, trace, kubeVersion }));
  await auth.ready();
  return { storage, registry, auth, admission, connections, metrics };
}

function kubeletConnections(options: ControlPlaneOptions, ca: CertificateAuthority): KubeletConnections {
  const { clock, random, kubeletPlainHttp: plainHttp, allowKubeletAddresses } = options;
  const kubeletCaPem = options.kubeletCaPem ?? (options.verifyKubelets === true ? ca.certificatePem : undefined);
  return new KubeletConnections({
    clientCertificate: () => createClientCertificate(ca, { clock, random }, KUBELET_CLIENT),
    clock,
    ...defined({ plainHttp, kubeletCaPem, allowKubeletAddresses, partitions: options.faults?.partitions }),
  });
}

async function listen(
  options: ControlPlaneOptions,
  { ca, serving }: Identities,
  { storage, registry, auth, admission, connections, dispatches }: Parts & { readonly dispatches: DispatchReport },
  components: readonly HealthCheck[],
): Promise<ApiServer & { readonly plainPort?: number }> {
  const { clock, random, trace, kubeVersion, host = DEFAULT_HOST, port = 0 } = options;
  const { tokens } = auth;
  const actionDeps = { clock, trace, kubeVersion, tokens, admission, components };
  const actions = new Map([...auth.handlers, ...createActionHandlers(actionDeps)]);
  const connecters = createConnecters({ connections, clock, random, trace, kubeVersion });
  const deps = { clock, random, trace, kubeVersion, registry, storage, auth, actions, connecters, dispatches };
  const { faults, onRequest } = options;
  const apiServer = createApiServer({ ...deps, ...defined({ faults, onRequest }) });
  try {
    const { plainHttpPort } = options;
    const secure = {
      host,
      port,
      servingCertificatePem: serving.certificatePem,
      servingKeyPem: serving.privateKeyPem,
      clientCaPem: ca.certificatePem,
      ...defined({ http2: options.http2 }),
    };
    const plain = plainHttpPort === undefined ? undefined : { host: DEFAULT_HOST, port: plainHttpPort };
    return await apiServer.listen(secure, plain);
  } catch (cause) {
    await auth.close();
    const message = `the control plane cannot listen on ${host}:${port}: ${listenProblem(cause)}`;
    throw new LabError("USAGE", message, "Name another port, or 0 for a free one.", { cause });
  }
}

async function closeInOrder(steps: readonly (() => Promise<void>)[]): Promise<void> {
  for (const step of steps) await step();
}
