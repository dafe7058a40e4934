import { isDeepStrictEqual } from "node:util";
import type { Ctx } from "../../../trace/ctx.js";
import type { Actor, Fact } from "../../../trace/events.js";
import type { Level } from "../../../trace/trace.js";
import { ChildAbort } from "../../../util/async/abort.js";
import { messageOf } from "../../../util/errors.js";
import { goDuration, rfc3339Micro } from "../../apimachinery/time.js";
import type { LeaderElectionRecord, ResourceLock } from "./resourcelock/interface.js";

/** Mirrors JitterFactor. */
const JITTER_FACTOR = 1.2;
const FILE = "staging/src/k8s.io/client-go/tools/leaderelection/leaderelection.go";

export interface LeaderElectionConfig {
  /** how long candidates wait without a sign of the leader before one of them takes over */
  readonly leaseDurationMs: number;
  /** how long the leader tries to renew the lease before it stops leading */
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  /** frees the lock at the end, after `lead` has ended, so that the next leader does not wait */
  readonly releaseOnCancel: boolean;
}

/** Mirrors RecommendedDefaultLeaderElectionConfig in k8s.io/component-base/config/v1alpha1/defaults.go. */
const DEFAULT_LEADER_ELECTION: LeaderElectionConfig = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
  releaseOnCancel: true,
};

export interface LeaderElectorDeps extends Ctx {
  readonly lock: ResourceLock;
  /** the component that the election is for */
  readonly actor: Actor;
}

/**
 * Lets one of several candidates lead at a time. It relies on changes of the record that this candidate saw, not on other machines' clocks.
 *
 * Mirrors LeaderElector in k8s.io/client-go/tools/leaderelection/leaderelection.go. Differs: after it has lost the lock it is a
 * candidate again; upstream's process ends, and starts again as a candidate.
 */
export class LeaderElector {
  #observedRecord: LeaderElectionRecord | undefined;
  #observedMs = 0;
  #reportedLeader = "";

  constructor(
    readonly deps: LeaderElectorDeps,
    readonly config: LeaderElectionConfig = DEFAULT_LEADER_ELECTION,
  ) {}

  /** The last known holder; "" if there is none. Mirrors GetLeader. */
  get leader(): string {
    return this.#observedRecord?.holderIdentity ?? "";
  }

  get isLeader(): boolean {
    return this.leader === this.deps.lock.identity;
  }

  /**
   * Waits for the lock, runs `lead` while it is held, and repeats that until `signal` aborts. `lead` must end soon
   * after its signal aborts; the lock is freed after it. Mirrors Run.
   */
  async run(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (await this.#acquire(signal)) {
      using leading = new ChildAbort(signal);
      const running = lead(leading.signal);
      await this.#renew(signal);
      leading.abort();
      await running;
      if (signal.aborted && this.config.releaseOnCancel) await this.#release();
    }
  }

  /** @throws if this candidate has led without a renewal for `toleranceMs` longer than the lease. Mirrors Check. */
  check(toleranceMs: number): void {
    const isOverdue = this.deps.clock.now() - this.#observedMs > this.config.leaseDurationMs + toleranceMs;
    if (!this.isLeader || !isOverdue) return;
    throw new Error(`failed election to renew leadership on lease ${this.deps.lock.description}`);
  }

  /** @returns false if `signal` aborts first */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { lock, clock, random } = this.deps;
    const { retryPeriodMs } = this.config;
    this.#report("acquire", `attempt to acquire the lease ${lock.description}`, `as ${lock.identity}`, 3);
    while (!signal.aborted) {
      if (await this.#tryAcquireOrRenew("acquire")) {
        lock.recordEvent("became leader");
        return true;
      }
      const waitMs = retryPeriodMs * (1 + random.float() * JITTER_FACTOR);
      await clock.sleep(waitMs, signal).catch(() => {});
    }
    return false;
  }

  /** Ends when the lease was not renewed in time, or `signal` aborts. */
  async #renew(signal: AbortSignal): Promise<void> {
    const { lock, clock } = this.deps;
    const { retryPeriodMs, renewDeadlineMs } = this.config;
    for (;;) {
      const isRenewed = await this.#renewInTime(signal);
      if (signal.aborted) return;
      if (!isRenewed) break;
      await clock.sleep(retryPeriodMs, signal).catch(() => {});
      if (signal.aborted) return;
    }
    const why = `no renewal for renewDeadline (${goDuration(renewDeadlineMs)})`;
    this.#report("renew", `stop leading: the lease ${lock.description} is lost`, why, 1);
    lock.recordEvent("stopped leading");
  }

  async #renewInTime(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.deps;
    const { retryPeriodMs, renewDeadlineMs } = this.config;
    using stop = new ChildAbort(signal);
    const isOver = clock.sleep(renewDeadlineMs, stop.signal).then(
      () => false,
      () => false,
    );
    const renewed = async () => {
      while (!stop.signal.aborted) {
        if (await this.#tryAcquireOrRenew("renew")) return true;
        await clock.sleep(retryPeriodMs, stop.signal).catch(() => {});
      }
      return false;
    };
    try {
      return await Promise.race([renewed(), isOver]);
    } finally {
      stop.abort();
    }
  }

  /** Mirrors tryAcquireOrRenew. */
  async #tryAcquireOrRenew(func: "acquire" | "renew"): Promise<boolean> {
    try {
      return await this.#attempt();
    } catch (error) {
      const { lock } = this.deps;
      this.#report(func, `cannot ${func} the lease ${lock.description}`, messageOf(error), 3);
      return false;
    } finally {
      this.#reportTransition();
    }
  }

  async #attempt(): Promise<boolean> {
    const { lock, clock } = this.deps;
    const { leaseDurationMs } = this.config;
    const now = rfc3339Micro(clock.now());
    const own = {
      holderIdentity: lock.identity,
      leaseDurationSeconds: Math.floor(leaseDurationMs / 1000),
      acquireTime: now,
      renewTime: now,
      leaderTransitions: 0,
    };
    const old = await lock.get();
    if (old === undefined) {
      await lock.create(own);
      this.#observe(own);
      return true;
    }
    if (!isDeepStrictEqual(this.#observedRecord, old)) this.#observe(old);
    if (old.holderIdentity !== "" && !this.isLeader && this.#observedMs + leaseDurationMs > clock.now()) {
      const why = `${old.holderIdentity} holds it, and it has not expired (leaseDuration ${goDuration(leaseDurationMs)})`;
      this.#report("tryAcquireOrRenew", `leave the lease ${lock.description}`, why, 4);
      return false;
    }
    const { acquireTime, leaderTransitions } = old;
    const record = this.isLeader
      ? { ...own, acquireTime, leaderTransitions }
      : { ...own, leaderTransitions: leaderTransitions + 1 };
    await lock.update(record);
    this.#observe(record);
    return true;
  }

  #observe(record: LeaderElectionRecord): void {
    this.#observedRecord = record;
    this.#observedMs = this.deps.clock.now();
  }

  /** Mirrors maybeReportTransition. */
  #reportTransition(): void {
    const { lock } = this.deps;
    if (this.leader === this.#reportedLeader) return;
    this.#reportedLeader = this.leader;
    const { leaderTransitions = 0 } = this.#observedRecord ?? {};
    const why = `holder of the lease ${lock.description}, after ${leaderTransitions} transitions`;
    if (this.leader === "") this.#report("OnNewLeader", `the lease ${lock.description} is free`, "released", 1);
    else this.#report("OnNewLeader", this.isLeader ? "lead" : `follow the leader ${this.leader}`, why, 1);
  }

  /** Frees the lock. Others take over without waiting for the lease. Mirrors release. */
  async #release(): Promise<void> {
    const { lock, clock } = this.deps;
    if (!this.isLeader) return;
    const now = rfc3339Micro(clock.now());
    const { leaderTransitions = 0 } = this.#observedRecord ?? {};
    const record = { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now, leaderTransitions };
    try {
      await lock.update(record);
      this.#observe(record);
      this.#report("release", `release the lease ${lock.description}`, "it ends", 2);
    } catch (error) {
      this.#report("release", `cannot release the lease ${lock.description}`, messageOf(error), 2);
    }
  }

  #report(func: string, what: string, why: string, level: Level): void {
    const { trace, actor } = this.deps;
    const fact: Fact = { kind: "decision", what, why, upstream: { file: FILE, func } };
    trace.emit(fact, { actor, level });
  }
}
