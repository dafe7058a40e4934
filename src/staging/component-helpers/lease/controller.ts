import { LabError } from "../../../util/errors.js";
import { factFor } from "../../../util/release/facts.js";
import type { KubeObject, ObjectMeta, OwnerReference } from "../../apimachinery/api/meta.js";
import { rfc3339Micro } from "../../apimachinery/time.js";
import { isSuccess, statusMessage, statusReason } from "../../client-go/rest/answers.js";
import type { ClientCtx, KubeResponse } from "../../client-go/rest/client.js";
import { collectionPath, NODE_LEASES, NODES, objectPath } from "../../client-go/rest/paths.js";
import { LeaseObserver, type LeaseOutcome, leaseDurationSeconds, renewIntervalMs } from "./lease-observer.js";

export const RENEWAL = { what: "renew the Lease", setBy: "renewInterval" };
export const RETRY = { what: "try to create the Lease again", setBy: "back-off" };

/** coordination.k8s.io/v1 Lease */
export interface LeaseObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    /** RFC 3339 with six decimals: metav1.MicroTime */
    readonly renewTime?: string;
    readonly [field: string]: unknown;
  };
}

export interface LeaseOptions {
  readonly nodeName: string;
  readonly kubeVersion: string;
  /** default: 40 */
  readonly leaseDurationSeconds?: number;
  /** adds up to 4 % to the interval, as upstream; without it two runs print the same trace */
  readonly jitter?: boolean;
}

/** heartbeatClient's timeout, at most the lease's duration. */
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Keeps one node's Lease in kube-node-lease renewed: the node's heartbeat.
 *
 * Mirrors k8s.io/component-helpers/apimachinery/lease/controller.go (sync, backoffEnsureLease, ensureLease,
 * retryUpdateLease, newLease) and pkg/kubelet/util/nodelease.go (SetNodeOwnerFunc).
 * Differs: no 4 % jitter unless requested; a 403 before the first lease ends it, because a missing right will not appear.
 */
export class LeaseController {
  readonly observer: LeaseObserver;
  #latest: LeaseObject | undefined;
  /** the API server has answered with a lease */
  #hadLease = false;

  constructor(
    readonly deps: ClientCtx,
    readonly options: LeaseOptions,
  ) {
    this.observer = new LeaseObserver(deps.trace, options);
  }

  /** the lease as it was last written; undefined before the first time, and while it is unknown */
  get latest(): LeaseObject | undefined {
    return this.#latest;
  }

  /** ms from the end of one renewal to the next: a quarter of the lease's duration */
  nextSleepMs(): number {
    const { kubeVersion, jitter } = this.options;
    const intervalMs = renewIntervalMs(this.options);
    return jitter === true
      ? intervalMs * (1 + this.deps.random.float() * factFor("leaseJitterFactor", kubeVersion))
      : intervalMs;
  }

  /**
   * Renews at each interval, after a first `sync` by the caller.
   * @yields one outcome per round
   * @throws the signal's reason when it aborts; LabError FORBIDDEN before the first lease
   */
  async *run(signal: AbortSignal): AsyncGenerator<LeaseOutcome> {
    for (;;) {
      await this.deps.clock.sleep(this.nextSleepMs(), signal, { ...RENEWAL, valueMs: renewIntervalMs(this.options) });
      const outcome = await this.sync(signal);
      this.observer.ended(outcome);
      yield outcome;
    }
  }

  /** One round outside the loop, reported as a step with the constants. */
  syncOnce(signal: AbortSignal): Promise<LeaseOutcome> {
    return this.observer.step(async () => {
      const outcome = await this.sync(signal);
      this.observer.ended(outcome);
      return outcome;
    });
  }

  /** One round. Assumes that the last written lease is still current, which saves a GET per round. */
  async sync(signal: AbortSignal): Promise<LeaseOutcome> {
    if (this.#latest !== undefined) {
      const outcome = await this.#retryUpdate(this.#latest, signal);
      if (outcome.type !== "failed") return outcome;
      this.observer.stale(outcome.why);
    }
    const ensured = await this.#backoffEnsure(signal);
    this.#latest = ensured.lease;
    if (ensured.created && ensured.lease !== undefined) {
      return { type: "created", renewTime: ensured.lease.spec.renewTime ?? "" };
    }
    // Without a Node the lease would have no owner: upstream leaves it for the next round.
    if (ensured.lease === undefined) return { type: "failed", why: ensured.why };
    return this.#retryUpdate(ensured.lease, signal);
  }

  async #backoffEnsure(signal: AbortSignal): Promise<Ensured> {
    const { kubeVersion } = this.options;
    const maxMs = factFor("leaseBackoffMax", kubeVersion);
    let sleepMs = factFor("leaseBackoffInitial", kubeVersion);
    for (;;) {
      const ensured = await this.#ensure(signal);
      if (!ensured.retry) return ensured;
      this.observer.unavailable(ensured.why, sleepMs);
      await this.deps.clock.sleep(sleepMs, signal, RETRY);
      sleepMs = Math.min(sleepMs * 2, maxMs);
    }
  }

  /** Gets the lease, or creates it. Mirrors ensureLease. */
  async #ensure(signal: AbortSignal): Promise<Ensured> {
    const path = objectPath(NODE_LEASES, this.options.nodeName);
    const found = await this.attempt({ method: "GET", path }, signal);
    if (found.lease !== undefined) return { lease: found.lease, created: false, retry: false, why: "" };
    if (found.status !== 404) return { lease: undefined, created: false, retry: true, why: found.why };
    const owner = await this.#nodeOwner(signal);
    if (owner === undefined) {
      const why = `there is no Node ${this.options.nodeName} to own the Lease`;
      return { lease: undefined, created: false, retry: false, why };
    }
    const body = this.#newLease(undefined, owner);
    const made = await this.attempt({ method: "POST", path: collectionPath(NODE_LEASES), body }, signal);
    return { lease: made.lease, created: made.lease !== undefined, retry: made.lease === undefined, why: made.why };
  }

  async #retryUpdate(first: LeaseObject, signal: AbortSignal): Promise<LeaseOutcome> {
    const maxAttempts = factFor("leaseMaxUpdateRetries", this.options.kubeVersion);
    let base: LeaseObject | undefined = first;
    let why = "";
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const hasOwner = (base?.metadata.ownerReferences ?? []).length > 0;
      const body = this.#newLease(base, hasOwner ? undefined : await this.#nodeOwner(signal));
      const path = objectPath(NODE_LEASES, this.options.nodeName);
      const answer = await this.attempt({ method: "PUT", path, body }, signal);
      if (answer.lease !== undefined) {
        this.#latest = answer.lease;
        return { type: "renewed", renewTime: answer.lease.spec.renewTime ?? "" };
      }
      why = answer.why;
      if (answer.status === 409) {
        this.observer.conflict(answer.why);
        base = (await this.#backoffEnsure(signal)).lease;
      }
    }
    return { type: "failed", why: `${maxAttempts} attempts failed, the last with: ${why}` };
  }

  /**
   * Mirrors SetNodeOwnerFunc: the lease is deleted with its node.
   * @returns undefined when there is no such node, or it cannot be read now
   */
  async #nodeOwner(signal: AbortSignal): Promise<OwnerReference | undefined> {
    const { nodeName } = this.options;
    const query = { timeout: "10s" };
    try {
      const path = objectPath(NODES, nodeName);
      const answer = await this.deps.client.request<KubeObject>({
        method: "GET",
        path,
        query,
        timeoutMs: REQUEST_TIMEOUT_MS,
        signal,
      });
      if (!isSuccess(answer)) return undefined;
      return { apiVersion: "v1", kind: "Node", name: nodeName, uid: answer.body.metadata.uid ?? "" };
    } catch (error) {
      if (signal.aborted || !(error instanceof LabError)) throw error;
      return undefined;
    }
  }

  /** A new lease, or a copy of `base`, renewed now. Mirrors newLease. */
  #newLease(base: LeaseObject | undefined, owner: OwnerReference | undefined): LeaseObject {
    const { nodeName } = this.options;
    const renewTime = rfc3339Micro(this.deps.clock.now());
    const lease: LeaseObject = base ?? {
      kind: "Lease",
      apiVersion: NODE_LEASES.apiVersion,
      metadata: { name: nodeName, namespace: "kube-node-lease" },
      spec: {
        holderIdentity: nodeName,
        leaseDurationSeconds: leaseDurationSeconds(this.options),
      },
    };
    return {
      ...lease,
      metadata: owner === undefined ? lease.metadata : { ...lease.metadata, ownerReferences: [owner] },
      spec: { ...lease.spec, renewTime },
    };
  }

  #isWorthRetry(error: LabError): boolean {
    return error.code === "CLUSTER_UNREACHABLE" || this.#hadLease;
  }

  /**
   * Sends one request. Failures are return values, except for an abort. Before the first lease a missing right and a server that is not
   * trusted are thrown, because a wrong configuration does not mend itself; upstream retries these, too.
   */
  async attempt(
    request: { method: "GET" | "POST" | "PUT"; path: string; body?: LeaseObject },
    signal: AbortSignal,
  ): Promise<{ lease: LeaseObject | undefined; status: number | undefined; why: string }> {
    let answer: KubeResponse<LeaseObject>;
    try {
      answer = await this.deps.client.request<LeaseObject>({
        ...request,
        query: { timeout: "10s" },
        timeoutMs: REQUEST_TIMEOUT_MS,
        signal,
      });
    } catch (error) {
      if (signal.aborted || !(error instanceof LabError) || !this.#isWorthRetry(error)) throw error;
      return { lease: undefined, status: undefined, why: error.message };
    }
    if (isSuccess(answer)) {
      this.#hadLease = true;
      return { lease: answer.body, status: answer.status, why: "" };
    }
    if (answer.status === 403 && !this.#hadLease) throw forbidden(this.options.nodeName, statusMessage(answer));
    const reason = statusReason(answer);
    return {
      lease: undefined,
      status: answer.status,
      why: `${answer.status}${reason === undefined ? "" : ` ${reason}`}: ${statusMessage(answer)}`,
    };
  }
}

interface Ensured {
  readonly lease: LeaseObject | undefined;
  readonly created: boolean;
  /** true: a temporary failure, retried with backoff */
  readonly retry: boolean;
  readonly why: string;
}

function forbidden(nodeName: string, message: string): LabError {
  return new LabError(
    "FORBIDDEN",
    `the API server does not let ${nodeName} renew its Lease: ${message}`,
    "A node may only write the Lease of its own name in kube-node-lease: look at the certificate's CN.",
  );
}
