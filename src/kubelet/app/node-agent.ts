import type { NodeAddress, NodeObject, NodeStatus, Taint } from "../../staging/apimachinery/api/node.js";
import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { runCertificateManager } from "../../staging/client-go/certificate/manager.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { SwitchingClient } from "../../staging/client-go/rest/switching-client.js";
import { LeaseController } from "../../staging/component-helpers/lease/controller.js";
import type { LeaseOutcome } from "../../staging/component-helpers/lease/lease-observer.js";
import type { Ctx } from "../../trace/ctx.js";
import { traceOfNode } from "../../trace/view.js";
import { allUntilOneEnds, waitAtMost } from "../../util/async/concurrency.js";
import { Waker } from "../../util/async/waker.js";
import { defined } from "../../util/defined.js";
import { type KubeletConfiguration, setDefaults } from "../apis/config/defaults.js";
import { clientCertificateMetrics, ttlSeconds } from "../certificate/certificate-metrics.js";
import type { CertificateStore } from "../certificate/certificate-store.js";
import { kubeletClientCertificate } from "../certificate/kubelet.js";
import { NodeEventRecorder } from "../events/node-recorder.js";
import { observeRequests } from "../metrics/client-metrics.js";
import { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import { type HeartbeatOutcome, NodeStatusHeartbeat } from "../nodestatus/heartbeat.js";
import { readMachineFacts } from "../nodestatus/machine.js";
import { NodeStatusObserver } from "../nodestatus/node-status-observer.js";
import { registerWithApiServer } from "../nodestatus/register.js";
import type { NodeResources } from "../nodestatus/resources.js";
import {
  eventOfCondition,
  initialNode,
  type KubeletFacts,
  type NodeHealth,
  RUNTIME_NOT_CHECKED,
  type StatusInputs,
  setNodeStatus,
} from "../nodestatus/setters.js";

const BIRTH_CRY = { file: "pkg/kubelet/kubelet.go", func: "BirthCry" };
/** How many times `start` tries to register. Limited, because a user waits for the error message. */
const START_ATTEMPTS = 6;
/** How long closing waits for events that are not written yet. */
const FLUSH_PATIENCE_MS = 2_000;

export interface NodeOptions {
  readonly nodeName: string;
  readonly kubeVersion: string;
  readonly resources: NodeResources;
  readonly jitter?: boolean;
  /** default: upstream's defaults */
  readonly config?: KubeletConfiguration;
  /** to register with beside the default ones, as `--node-labels`; default: none */
  readonly labels?: Readonly<Record<string, string>>;
  /** the taints to register with, as `--register-with-taints`; default: none */
  readonly taints?: readonly Taint[];
  /** besides its name, as a cloud provider would report them; default: this machine's loopback address */
  readonly addresses?: readonly NodeAddress[];
}

/** Where the node's status comes from when this node also runs a container runtime. */
export interface NodeStatusSource {
  health(): NodeHealth;
  facts(): KubeletFacts;
}

/**
 * The part of a kubelet that makes a machine a node and keeps it one: registration, status, lease, certificate.
 * It uses no identity but the node's own certificate.
 *
 * Mirrors pkg/kubelet/kubelet.go (Run, without pods).
 */
export class NodeAgent {
  readonly client: SwitchingClient;
  readonly lease: LeaseController;
  readonly heartbeat: NodeStatusHeartbeat;
  readonly deps: Ctx;
  /** of the whole kubelet: its requests begin with the agent's */
  readonly metrics: KubeletMetrics;
  readonly #events: NodeEventRecorder;
  readonly #inputs: Omit<StatusInputs, "health" | "nowMs">;
  #lastHeartbeatMs: number | undefined;
  #source: NodeStatusSource | undefined;
  #isSilent = false;
  readonly #silenceChanged = new Waker();

  constructor(
    config: RestConfig,
    ctx: Ctx,
    readonly options: NodeOptions,
  ) {
    const { nodeName, kubeVersion, resources, config: kubelet = setDefaults({}, options.kubeVersion) } = options;
    const deps = { ...ctx, trace: traceOfNode(ctx.trace, nodeName) };
    this.deps = deps;
    const machine = readMachineFacts(nodeName, options.addresses);
    const { operatingSystem, architecture } = machine;
    this.metrics = new KubeletMetrics({
      nodeName,
      startMs: deps.clock.now(),
      requestsServingCertificate: kubelet.serverTLSBootstrap === true,
      build: { kubeVersion, platform: `${operatingSystem}/${architecture}` },
    });
    const observe = observeRequests(this.metrics);
    this.client = new SwitchingClient(config, (one) => createClient(one, { ...deps, actor: "kubelet", observe }));
    this.metrics.collectWith(() => {
      const seconds = ttlSeconds(this.client.config.clientCertificatePem, deps.clock.now());
      this.metrics.set("kubelet_certificate_manager_client_ttl_seconds", seconds);
    });
    this.#inputs = { nodeName, resources, reservations: kubelet, machine, kubeletVersion: `v${kubeVersion}.0` };
    this.#events = new NodeEventRecorder({ ...deps, client: this.client }, { nodeName, kubeVersion });
    this.lease = new LeaseController(
      { ...deps, client: this.client },
      { ...options, leaseDurationSeconds: kubelet.nodeLeaseDurationSeconds },
    );
    this.heartbeat = new NodeStatusHeartbeat(
      { ...deps, client: this.client },
      {
        nodeName,
        kubeVersion,
        updateFrequencyMs: parseGoDuration(kubelet.nodeStatusUpdateFrequency),
        reportFrequencyMs: parseGoDuration(kubelet.nodeStatusReportFrequency),
        setStatus: (before, nowMs) => this.#status(before, nowMs),
        onReport: (reportMs) => this.#heardAt(reportMs),
        onCondition: (condition) => this.#events.recordStatus(eventOfCondition(condition)),
      },
    );
  }

  /**
   * Unix ms of the last heartbeat (lease renewal or status) that the API server accepted; the grace period runs from
   * then. Undefined before the first one.
   */
  get lastHeartbeatMs(): number | undefined {
    return this.#lastHeartbeatMs;
  }

  /** The node's addresses besides its name. */
  get addresses(): readonly NodeAddress[] {
    return this.#inputs.machine.addresses;
  }

  /** From now on the node's status includes what the kubelet's other parts report. Before, it is Ready. */
  reportFrom(source: NodeStatusSource): void {
    this.#source = source;
  }

  /** The Node as this kubelet would register it now. Admission uses it until the API server has one. */
  initialNode(): NodeObject {
    const inputs = this.#inputsNow({ problems: [RUNTIME_NOT_CHECKED] }, this.deps.clock.now());
    const { labels, taints, config } = this.options;
    return initialNode(inputs, defined({ labels, taints, providerId: config?.providerID }));
  }

  #status(before: NodeStatus, nowMs: number): NodeStatus {
    return setNodeStatus(before, this.#inputsNow(this.#source?.health() ?? { problems: [] }, nowMs));
  }

  #inputsNow(health: NodeHealth, nowMs: number): StatusInputs {
    const kubelet = this.#source?.facts();
    return { ...this.#inputs, health, nowMs, ...defined({ kubelet }) };
  }

  /**
   * Tests the new certificate: the node reads its own Node, which may not exist yet.
   * @throws LabError UNAUTHORIZED, FORBIDDEN, CLUSTER_*
   */
  async testClient(signal: AbortSignal): Promise<void> {
    const observer = new NodeStatusObserver(this.deps.trace);
    await observer.testing(async () => {
      const path = `/api/v1/nodes/${encodeURIComponent(this.options.nodeName)}`;
      const answer = await this.client.request<NodeObject>({ method: "GET", path, signal });
      if (answer.status !== 200 && answer.status !== 404) {
        await this.client.expect({ method: "GET", path, signal });
      }
      observer.tested(answer.status !== 404);
    });
  }

  /**
   * Registers, declares Ready and renews the lease once.
   *
   * Upstream starts all three at once, so its lease controller finds no Node to own the lease and sleeps 10 s; here the
   * lease comes after the registration.
   */
  async start(signal: AbortSignal): Promise<{ readonly status: HeartbeatOutcome; readonly lease: LeaseOutcome }> {
    this.birthCry();
    await this.register(signal, { maxAttempts: START_ATTEMPTS });
    const status = await this.reportReady(signal);
    return { status, lease: await this.renewOnce(signal) };
  }

  /** Mirrors BirthCry in pkg/kubelet/kubelet.go. */
  birthCry(): void {
    this.#events.record("Normal", "Starting", "Starting kubelet.", 1, BIRTH_CRY);
  }

  /** Records an Event about the node. @param reason as in pkg/kubelet/events/event.go */
  recordEvent(type: "Normal" | "Warning", reason: string, message: string): void {
    this.#events.record(type, reason, message);
  }

  /** Retries without limit by default. @returns the node, not Ready yet. @throws LabError as registerWithApiServer */
  async register(signal: AbortSignal, options: { readonly maxAttempts?: number } = {}): Promise<NodeObject> {
    const { kubeVersion } = this.options;
    const deps = { ...this.deps, client: this.client };
    const { node } = await registerWithApiServer(deps, this.initialNode(), { kubeVersion, ...options }, signal);
    for (const reason of ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"]) {
      // Upstream records them for each new node. They carry no news, so they need -v 2.
      this.#events.recordStatus(reason, 2);
    }
    return node;
  }

  /** Writes the node's status; Ready if the status source reports no problem. */
  async reportReady(signal: AbortSignal): Promise<HeartbeatOutcome> {
    const observer = new NodeStatusObserver(this.deps.trace);
    return observer.reportingReady(this.options.nodeName, () => this.heartbeat.update(signal));
  }

  /** One round of the lease controller, as a step. */
  async renewOnce(signal: AbortSignal): Promise<LeaseOutcome> {
    const outcome = await this.lease.syncOnce(signal);
    this.#noteRenewal(outcome);
    return outcome;
  }

  #noteRenewal(outcome: LeaseOutcome): void {
    const renewMs = outcome.type === "failed" ? Number.NaN : Date.parse(outcome.renewTime);
    if (!Number.isNaN(renewMs)) this.#heardAt(renewMs);
  }

  #heardAt(ms: number): void {
    this.#lastHeartbeatMs = Math.max(this.#lastHeartbeatMs ?? ms, ms);
  }

  /**
   * Renews at each interval.
   * @param onRound called after each round; false ends the loop
   */
  async renewLoop(signal: AbortSignal, onRound?: (outcome: LeaseOutcome) => boolean): Promise<void> {
    await this.deps.trace.detached(async () => {
      for await (const outcome of this.lease.run(signal)) {
        this.#noteRenewal(outcome);
        if (onRound?.(outcome) === false) return;
      }
    });
  }

  /**
   * Keeps the node alive until `signal` aborts: renews the lease, reports the status, rotates the certificate. Rejects
   * with the signal's reason, or with the error that ended one of them.
   */
  async keep(
    store: CertificateStore,
    options: { readonly expirationSeconds?: number },
    signal: AbortSignal,
  ): Promise<void> {
    const { nodeName, kubeVersion } = this.options;
    const config = kubeletClientCertificate(this.client, store, {
      ...{ nodeName, kubeVersion, ...options },
      metrics: clientCertificateMetrics(this.metrics),
    });
    const deps = { ...this.deps, client: this.client };
    await allUntilOneEnds(signal, [
      (inner) => this.keepAlive(inner),
      (inner) => this.deps.trace.detached(() => runCertificateManager(deps, config, inner)),
    ]);
  }

  /** Renews and reports until `signal` aborts, without rotating the certificate. Rejects as `keep`. */
  async keepAlive(signal: AbortSignal): Promise<void> {
    const untilChanged = (inner: AbortSignal) => this.#silenceChanged.wait(this.deps.clock, undefined, inner);
    for (;;) {
      const beats = [
        (inner: AbortSignal) => this.renewLoop(inner),
        (inner: AbortSignal) => this.deps.trace.detached(() => this.heartbeat.run(inner)),
      ];
      await allUntilOneEnds(signal, [...(this.#isSilent ? [] : beats), untilChanged]);
    }
  }

  /** Stops the heartbeats, or resumes them; everything else goes on. */
  setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent;
    this.#silenceChanged.wake();
  }

  /** Sends the remaining events, then closes the connections. Safe to call twice. */
  async close(): Promise<void> {
    // The close ends even if the API server does not answer.
    await waitAtMost(this.deps.clock, FLUSH_PATIENCE_MS, this.#events.close());
    await this.client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
