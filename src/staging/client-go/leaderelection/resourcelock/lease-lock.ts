import type { V1Lease } from "@kubernetes/client-node";
import type { Wire } from "../../../apimachinery/wire.js";
import type { EventRecorder } from "../../record/recorder.js";
import { referenceTo } from "../../record/reference.js";
import type { LeaderElectionRecord, ResourceLock } from "./interface.js";

type Lease = Wire<V1Lease>;

/** Reads and writes the Lease of a lock. */
export interface LeaseClient {
  get(namespace: string, name: string): Promise<Lease | undefined>;
  create(lease: Lease): Promise<Lease>;
  /** @throws when the Lease has another resourceVersion */
  update(lease: Lease): Promise<Lease>;
}

export interface LeaseLockDeps {
  readonly leases: LeaseClient;
  readonly recorder: EventRecorder;
}

export interface LeaseLockOptions {
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
}

/** A lock in the spec of a Lease. Mirrors k8s.io/client-go/tools/leaderelection/resourcelock/leaselock.go. */
export class LeaseLock implements ResourceLock {
  #lease: Lease | undefined;

  constructor(
    readonly deps: LeaseLockDeps,
    readonly options: LeaseLockOptions,
  ) {}

  get identity(): string {
    return this.options.identity;
  }

  get description(): string {
    return `${this.options.namespace}/${this.options.name}`;
  }

  async get(): Promise<LeaderElectionRecord | undefined> {
    const { namespace, name } = this.options;
    this.#lease = await this.deps.leases.get(namespace, name);
    return this.#lease === undefined ? undefined : recordOf(this.#lease);
  }

  async create(record: LeaderElectionRecord): Promise<void> {
    const { namespace, name } = this.options;
    this.#lease = await this.deps.leases.create({
      kind: "Lease",
      apiVersion: "coordination.k8s.io/v1",
      metadata: { name, namespace },
      spec: specOf(record),
    });
  }

  async update(record: LeaderElectionRecord): Promise<void> {
    if (this.#lease === undefined) throw new Error("lease not initialized, call get or create first");
    this.#lease = await this.deps.leases.update({ ...this.#lease, spec: specOf(record) });
  }

  recordEvent(what: string): void {
    if (this.#lease === undefined) return;
    this.deps.recorder.event(referenceTo(this.#lease), "Normal", "LeaderElection", `${this.identity} ${what}`);
  }
}

/** Mirrors LeaseSpecToLeaderElectionRecord. */
function recordOf({ spec = {} }: Lease): LeaderElectionRecord {
  return {
    holderIdentity: spec.holderIdentity ?? "",
    leaseDurationSeconds: spec.leaseDurationSeconds ?? 0,
    acquireTime: spec.acquireTime ?? "",
    renewTime: spec.renewTime ?? "",
    leaderTransitions: spec.leaseTransitions ?? 0,
  };
}

/** Mirrors LeaderElectionRecordToLeaseSpec. */
function specOf(record: LeaderElectionRecord): NonNullable<Lease["spec"]> {
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaderTransitions } = record;
  return { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions: leaderTransitions };
}
