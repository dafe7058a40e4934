import type { KubeletConfiguration } from "../../kubelet/apis/config/defaults.js";
import { NodeAgent } from "../../kubelet/app/node-agent.js";
import {
  type BootstrapIdentity,
  type BootstrapResult,
  type IdentityParts,
  loadClientCert,
} from "../../kubelet/certificate/bootstrap.js";
import { type CertificateStore, openCertificateStore } from "../../kubelet/certificate/certificate-store.js";
import { type BootstrapDecision, needsBootstrap } from "../../kubelet/certificate/needs-bootstrap.js";
import { movedTo, noteMove } from "../../kubelet/certificate/node-kubeconfig.js";
import type { CertificateSigningRequest } from "../../staging/apimachinery/api/certificates.js";
import type { NodeAddress } from "../../staging/apimachinery/api/node.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { discoverCluster } from "../../staging/cluster-bootstrap/discovery.js";
import { type BootstrapToken, formatToken } from "../../staging/cluster-bootstrap/token.js";
import type { Trace } from "../../trace/trace.js";
import { traceOfNode } from "../../trace/view.js";
import { untilAborted } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import type { NodeContext } from "../context.js";
import { openAdminKubeconfig } from "../target/admin-kubeconfig.js";
import { Administrator } from "../target/administrator.js";
import type { Target } from "../target/target.js";
import { checkIssuedCertificate } from "./issued-certificate.js";
import type { JoinPlan } from "./join-plan.js";

/** A node that has an identity, and an agent that acts with it; the agent has done nothing yet. */
export interface PreparedNode {
  readonly agent: NodeAgent;
  readonly config: RestConfig;
  readonly notAfterMs: number;
  readonly csrName: string | undefined;
  readonly skippedBootstrap: boolean;
}

/** A node that has joined: it is registered, Ready and has renewed its lease once. */
export interface JoinedNode extends PreparedNode {
  readonly renewTime: string;
}

export interface JoinSession {
  readonly context: NodeContext;
  readonly clock: Clock;
  readonly trace: Trace;
  readonly plan: JoinPlan;
  readonly kubeVersion: string;
  /** the kubelet's; default: upstream's defaults */
  readonly config?: KubeletConfiguration;
  /** undefined with --server: only the cluster's address is known */
  readonly target: Target | undefined;
  readonly store: CertificateStore;
  /**
   * Reads the own Node before anything else, so that a wrong cluster is an error at once; default true. As upstream without it: such a
   * kubelet starts while the API server is away.
   */
  readonly testsIdentity?: boolean;
  /** see BootstrapOptions */
  readonly parts?: IdentityParts;
  /** the node's addresses in addition to its name; default: this machine's loopback address */
  readonly addresses?: readonly NodeAddress[];
}

/** The time in which a controller can approve before the administrator does; it needs a few ms. */
const AUTO_APPROVAL_PATIENCE_MS = 3_000;

/**
 * Opens the node's folder. Reports its errors before the command asks a question.
 * @throws LabError BAD_FILE
 */
export async function openStore(plan: JoinPlan): Promise<CertificateStore> {
  const store = await openCertificateStore(plan.folder);
  if (!plan.force) await store.current();
  return store;
}

/**
 * Joins a node: certificate, registration, Ready, first renewal of the lease. The caller closes the agent.
 * @throws LabError
 */
export function joinNode(session: JoinSession): Promise<JoinedNode> {
  return session.trace.sequence(() => join(session));
}

async function join(session: JoinSession): Promise<JoinedNode> {
  const node = await prepareNode(session);
  try {
    const { status, lease } = await node.agent.start(session.context.signal);
    const { nodeName } = session.plan;
    const hint = "Run the same command again.";
    if (status === "failed")
      throw new LabError("FAILED", `the status of ${nodeName} was not written: it is not Ready`, hint);
    if (lease.type !== "failed") return { ...node, renewTime: lease.renewTime };
    throw new LabError("FAILED", `the Lease of ${nodeName} was not written: ${lease.why}`, hint);
  } catch (error) {
    await node.agent.close();
    throw error;
  }
}

/** Gets the node its identity, with a token if necessary, and tests it. The caller closes the agent. */
export function prepareNode(session: JoinSession): Promise<PreparedNode> {
  return session.trace.sequence(() => prepare(session));
}

async function prepare(caller: JoinSession): Promise<PreparedNode> {
  const session = { ...caller, trace: traceOfNode(caller.trace, caller.plan.nodeName) };
  const { context, plan, trace, clock, kubeVersion } = session;
  const decision = await decide(session);
  const { store, target } = session;
  if (decision.needed && !plan.force && target !== undefined) {
    await checkIssuedCertificate(store, plan.nodeName, clusterOf(target.admin, plan));
  }
  await askFirst(session, decision);
  const moved = decision.needed ? undefined : whereItIsNow(session, decision.config);
  const own = decision.needed
    ? await bootstrap(session)
    : { ...decision, config: moved ?? decision.config, csrName: undefined };
  const agent = new NodeAgent(
    own.config,
    { clock, trace, random: context.random },
    {
      nodeName: plan.nodeName,
      kubeVersion,
      resources: plan.resources,
      jitter: plan.jitter,
      ...defined({ labels: plan.labels, taints: plan.taints, addresses: session.addresses, config: session.config }),
    },
  );
  try {
    if (session.testsIdentity !== false) await agent.testClient(context.signal);
    // Written last, so that only a tested identity is recorded.
    if (moved !== undefined) await noteMove(session.store, trace, moved);
  } catch (error) {
    await agent.close();
    throw error;
  }
  const { config, csrName, certificate } = own;
  return { agent, config, csrName, notAfterMs: certificate.notAfterMs, skippedBootstrap: !decision.needed };
}

/** With --server, a kubeconfig for another address is ignored, and the node bootstraps again. */
function whereItIsNow({ target, plan, trace, store }: JoinSession, config: RestConfig): RestConfig | undefined {
  const moved = target === undefined ? undefined : movedTo(config, clusterOf(target.admin, plan));
  if (moved === undefined) return undefined;
  const what = `go to ${moved.server}`;
  const why = `that is where the cluster is now; ${store.kubeconfigPath} says ${config.server}`;
  trace.emit({ kind: "decision", what, why }, { actor: "kubelet" });
  return moved;
}

function decide({ plan, clock, trace, target, store }: JoinSession): Promise<BootstrapDecision> {
  const upstream = { file: "pkg/kubelet/certificate/bootstrap/bootstrap.go", func: "isClientConfigStillValid" };
  return trace.step("kubelet", "Check whether this node needs to bootstrap", { upstream }, async () => {
    const caPem = target?.admin.caPem;
    const decision = await needsBootstrap({
      kubeconfigPath: store.kubeconfigPath,
      nowMs: clock.now(),
      force: plan.force,
      ...defined({ caPem }),
      ...(plan.discovery.kind === "by-target" ? {} : { server: plan.discovery.server }),
    });
    const what = decision.needed ? "yes: bootstrap with a token" : "no: use what is there";
    trace.emit({ kind: "decision", what, why: decision.why }, { actor: "kubelet" });
    return decision;
  });
}

async function bootstrap(session: JoinSession): Promise<BootstrapResult> {
  const { target, trace, clock, context, plan } = session;
  if (target === undefined) {
    const cluster = await discover(session);
    if (!plan.force) await checkIssuedCertificate(session.store, plan.nodeName, cluster);
    return requestAsNode(session, cluster, identityOf(plan), undefined);
  }
  const administrator = new Administrator(target, { trace, clock, random: context.random });
  try {
    const token = plan.token ?? (await administrator.makeToken(plan.nodeName, plan.approval, plan.timeoutMs));
    return await requestAsNode(session, clusterOf(target.admin, plan), { token: formatToken(token) }, administrator);
  } finally {
    await administrator.tidyUp();
    await administrator.close();
  }
}

/** The cluster's address and CA: the only parts of a kubeconfig that the node keeps. */
function clusterOf(config: RestConfig, plan: JoinPlan): RestConfig {
  const { server, caPem, tlsServerName, insecureSkipTlsVerify } = config;
  if (plan.insecureSkipTlsVerify || insecureSkipTlsVerify === true) return { server, insecureSkipTlsVerify: true };
  return {
    server,
    ...defined({ caPem, tlsServerName }),
  };
}

function requireToken(plan: JoinPlan): BootstrapToken {
  if (plan.token === undefined) throw new Error("a plan with --server has a token");
  return plan.token;
}

/** The credentials with which the node asks for its certificate. */
function identityOf(plan: JoinPlan): BootstrapIdentity {
  const { discovery } = plan;
  return discovery.kind === "by-kubeconfig" ? discovery.config : { token: formatToken(requireToken(plan)) };
}

async function discover({ plan, trace, clock, context }: JoinSession): Promise<RestConfig> {
  const { discovery } = plan;
  if (discovery.kind === "unverified") return { server: discovery.server, insecureSkipTlsVerify: true };
  if (discovery.kind === "by-kubeconfig") return clusterOf(discovery.config, plan);
  if (discovery.kind === "by-target") throw new Error("a target needs no discovery");
  const deps = { trace, clock, random: context.random, actor: "kubelet" as const };
  const { server, caCertHashes } = discovery;
  return discoverCluster(deps, { server, caCertHashes, token: requireToken(plan) }, context.signal);
}

/** @throws LabError DECLINED if the learner does not agree to the writes to a real cluster */
async function askFirst({ context, plan, trace, target }: JoinSession, decision: BootstrapDecision): Promise<void> {
  if (target?.kind !== "real") return;
  const token = plan.token === undefined ? "a bootstrap token is made and deleted again, and " : "";
  const asAdmin = `With your identity: ${token}the node's request is approved if no controller does it. `;
  const asNode = `With the node's: Node ${plan.nodeName} and its Lease are made, and stay.`;
  trace.emit({ kind: "note", text: decision.needed ? asAdmin + asNode : asNode }, { actor: "user" });
  const question = `Join node ${plan.nodeName} to ${target.description}?`;
  const agreed = await context.confirm(question, { yes: plan.yes, flag: "--yes" });
  if (!agreed)
    throw new LabError("DECLINED", "nothing was changed: you did not agree", "Use --yes to skip the question.");
}

async function requestAsNode(
  session: JoinSession,
  cluster: RestConfig,
  identity: BootstrapIdentity,
  administrator: Administrator | undefined,
): Promise<BootstrapResult> {
  const { plan, store, trace, clock, context, kubeVersion } = session;
  return loadClientCert(
    { store, trace, clock, random: context.random },
    {
      nodeName: plan.nodeName,
      kubeVersion,
      cluster,
      identity,
      timeoutMs: plan.timeoutMs,
      force: plan.force,
      ...(plan.takesOver === true
        ? {}
        : { refuseTakenName: { orAskAs: administrator === undefined ? [] : [administrator.client] } }),
      ...defined({ expirationSeconds: plan.expirationSeconds, parts: session.parts }),
      timedOutHint: (csrName) => timedOutHint(session, csrName),
      whileWaiting: (csr, signal) => approve(session, csr, administrator, signal),
    },
    context.signal,
  );
}

/** The hint after a time-out. A CSR outlives the command, except in an embedded cluster, which ends with it. */
function timedOutHint({ target, plan }: JoinSession, csrName: string): string {
  if (target?.kind === "embedded") {
    const other = plan.approval === "manual" ? ", or leave out --approve manual" : "";
    return `The request is gone with this control plane: give more --timeout${other}.`;
  }
  const flags = target?.kubeconfigPath === undefined ? "" : ` --kubeconfig ${target.kubeconfigPath}`;
  const command =
    target?.kind === "joined" ? `kubelab csr approve ${csrName}` : `kubectl${flags} certificate approve ${csrName}`;
  return `Approve it (${command}) and run the same command again: it continues with this request.`;
}

/** Approves the CSR while the node waits. An error ends the wait. */
async function approve(
  session: JoinSession,
  csr: CertificateSigningRequest,
  administrator: Administrator | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { plan, clock, trace, context } = session;
  const name = csr.metadata.name ?? "";
  if (plan.approval === "manual" || administrator === undefined) {
    if (plan.approval === "manual") await printKubectlLine(session, name, signal);
    return;
  }
  try {
    if (plan.approval === "auto") {
      await clock.sleep(AUTO_APPROVAL_PATIENCE_MS, signal);
      if (!(await administrator.isPending(name, signal))) return;
      const what = `approve CSR ${name} as the administrator`;
      trace.emit(
        { kind: "decision", what, why: "no controller of this cluster has done it in 3 s" },
        { actor: "user" },
      );
      return await administrator.judge(name, "Approved", signal);
    }
    if (!(await administrator.isPending(name, signal))) return;
    const question = `Approve CSR ${name}: a client certificate for system:node:${plan.nodeName}?`;
    const agreed = await context.confirm(question, { yes: plan.yes, flag: "--approve auto" });
    await administrator.judge(name, agreed ? "Approved" : "Denied", signal);
  } catch (error) {
    // After an abort the wait is over, so the decision no longer matters.
    if (!signal.aborted) throw error;
  }
}

/** Prints the command for another terminal, and keeps a kubeconfig for it until the wait ends. */
async function printKubectlLine(
  { context, plan, target, trace }: JoinSession,
  csrName: string,
  signal: AbortSignal,
): Promise<void> {
  await using kubeconfig = await openAdminKubeconfig(plan.folder, target);
  const text = `The request waits for your approval. In another terminal:\n  ${kubeconfig.kubectl} certificate approve ${csrName}`;
  trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  using _line = context.progress("waiting for the approval; Ctrl-C ends it");
  await untilAborted(signal);
}
