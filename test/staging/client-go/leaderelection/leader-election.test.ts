import { expect, test } from "vitest";
import { LeaderElector } from "../../../../src/staging/client-go/leaderelection/leader-election.js";
import type {
  LeaderElectionRecord,
  ResourceLock,
} from "../../../../src/staging/client-go/leaderelection/resourcelock/interface.js";
import { FakeClock, settle } from "../../../support/fake-clock.js";
import { only, recordingTrace } from "../../../support/trace.js";

/** The object behind the locks of several candidates. */
class Place {
  record: LeaderElectionRecord | undefined;
  version = 0;
  /** requests fail */
  isDown = false;
  /** requests are never answered */
  isStuck = false;
}

class MemoryLock implements ResourceLock {
  readonly description = "kube-system/test";
  readonly events: string[] = [];
  #version = 0;

  constructor(
    readonly place: Place,
    readonly identity: string,
  ) {}

  async #asked(): Promise<void> {
    if (this.place.isStuck) await new Promise(() => {});
    if (this.place.isDown) throw new Error("no connection");
  }
  async get(): Promise<LeaderElectionRecord | undefined> {
    await this.#asked();
    this.#version = this.place.version;
    return this.place.record;
  }
  async create(record: LeaderElectionRecord): Promise<void> {
    await this.#asked();
    if (this.place.record !== undefined) throw new Error("it exists");
    this.#write(record);
  }
  async update(record: LeaderElectionRecord): Promise<void> {
    await this.#asked();
    if (this.#version !== this.place.version) throw new Error("it has changed");
    this.#write(record);
  }
  #write(record: LeaderElectionRecord): void {
    this.place.record = record;
    this.#version = ++this.place.version;
  }
  recordEvent(what: string): void {
    this.events.push(`${this.identity} ${what}`);
  }
}

function candidate(clock: FakeClock, place: Place, identity: string, releaseOnCancel = false) {
  const lock = new MemoryLock(place, identity);
  const { trace, events } = recordingTrace(clock);
  const random = { float: () => 0.5, uuid: () => "", bytes: () => Buffer.alloc(0) };
  const elector = new LeaderElector(
    { lock, clock, random, trace, actor: "controller" },
    { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000, releaseOnCancel },
  );
  const stop = new AbortController();
  const log: string[] = [];
  const lead = async (signal: AbortSignal) => {
    log.push("start");
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    log.push("stop");
  };
  const ended = elector.run(lead, stop.signal);
  const facts = () => only(events, "decision").map(({ what }) => what);
  const end = () => {
    stop.abort();
    return ended;
  };
  return { elector, lock, log, facts, end };
}

test("the first candidate creates the lock and leads; the second follows", async () => {
  const clock = new FakeClock();
  const place = new Place();
  const a = candidate(clock, place, "a");
  await settle();
  const b = candidate(clock, place, "b");
  await clock.advance(60_000);
  expect([a.log, b.log]).toEqual([["start"], []]);
  expect([a.elector.leader, b.elector.leader, a.elector.isLeader, b.elector.isLeader]).toEqual(["a", "a", true, false]);
  expect(a.lock.events).toEqual(["a became leader"]);
  expect(b.facts()).toContain("follow the leader a");
  const { acquireTime, renewTime, leaderTransitions, leaseDurationSeconds } = place.record ?? {};
  expect([leaderTransitions, leaseDurationSeconds]).toEqual([0, 15]);
  expect(acquireTime).toBe("2026-01-01T00:00:00.000000Z");
  expect(renewTime).toBe("2026-01-01T00:01:00.000000Z");
  await Promise.all([a.end(), b.end()]);
  expect(a.log).toEqual(["start", "stop"]);
  expect(clock.sleeping).toBe(0);
});

test("a candidate takes over 15 s after the last renewal that it saw, and not before", async () => {
  const clock = new FakeClock();
  const place = new Place();
  const acquireTime = "2020-01-01T00:00:00.000000Z";
  place.record = {
    holderIdentity: "dead",
    leaseDurationSeconds: 15,
    acquireTime,
    renewTime: acquireTime,
    leaderTransitions: 3,
  };
  const b = candidate(clock, place, "b");
  await clock.advance(14_900);
  expect(b.log).toEqual([]);
  // One more try after the lease: 2 s and the jitter.
  await clock.advance(3_300);
  expect(b.log).toEqual(["start"]);
  expect(place.record).toMatchObject({ holderIdentity: "b", leaderTransitions: 4 });
  await b.end();
});

const outages = [
  ["fail", (place: Place) => Object.assign(place, { isDown: true })],
  ["get no answer", (place: Place) => Object.assign(place, { isStuck: true })],
] as const;
for (const [title, breakIt] of outages) {
  test(`a leader whose requests ${title} stops after the renew deadline, and is a candidate again`, async () => {
    const clock = new FakeClock();
    const place = new Place();
    const a = candidate(clock, place, "a");
    await clock.advance(5_000);
    breakIt(place);
    await clock.advance(9_000);
    expect(a.log).toEqual(["start"]);
    await clock.advance(4_000);
    expect(a.log).toEqual(["start", "stop"]);
    expect(a.lock.events).toEqual(["a became leader", "a stopped leading"]);
    expect(a.facts()).toContain("stop leading: the lease kube-system/test is lost");
    if (title === "fail") {
      place.isDown = false;
      await clock.advance(5_000);
      expect(a.log).toEqual(["start", "stop", "start"]);
      await a.end();
    }
  });
}

test("a leader that finds another holder stops", async () => {
  const clock = new FakeClock();
  const place = new Place();
  const a = candidate(clock, place, "a");
  await settle();
  place.record = { ...(place.record as LeaderElectionRecord), holderIdentity: "b", leaderTransitions: 1 };
  place.version++;
  await clock.advance(13_000);
  expect(a.log).toEqual(["start", "stop"]);
  expect(place.record.holderIdentity).toBe("b");
  await a.end();
});

test("a clean end releases the lock, and the next leader does not wait for the lease", async () => {
  const clock = new FakeClock();
  const place = new Place();
  const a = candidate(clock, place, "a", true);
  await settle();
  const b = candidate(clock, place, "b");
  await clock.advance(10_000);
  await a.end();
  expect(a.log).toEqual(["start", "stop"]);
  expect(place.record).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaderTransitions: 0 });
  await clock.advance(3_300);
  expect(b.log).toEqual(["start"]);
  expect(place.record).toMatchObject({ holderIdentity: "b", leaderTransitions: 1 });
  await b.end();
});

test("an end without release leaves the lock", async () => {
  const clock = new FakeClock();
  const place = new Place();
  const a = candidate(clock, place, "a");
  await clock.advance(3_000);
  await a.end();
  expect(place.record?.holderIdentity).toBe("a");
});

test("a process that starts again under its old identity leads at once", async () => {
  const clock = new FakeClock();
  const place = new Place();
  const first = candidate(clock, place, "a");
  await settle();
  await first.end();
  const again = candidate(clock, place, "a");
  await settle();
  expect(again.log).toEqual(["start"]);
  expect(place.record?.leaderTransitions).toBe(0);
  await again.end();
});

test("check fails when a leader has not renewed its lease for much longer than it lasts", async () => {
  const clock = new FakeClock();
  const place = new Place();
  const a = candidate(clock, place, "a");
  await settle();
  expect(() => a.elector.check(20_000)).not.toThrow();
  place.isStuck = true;
  await clock.advance(36_000);
  expect(() => a.elector.check(20_000)).toThrow("failed election to renew leadership on lease kube-system/test");
});
