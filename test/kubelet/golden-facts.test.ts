import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { WAIT_FOR_API_SERVER_SYNC_PERIOD_MS } from "../../src/kubelet/config/apiserver.js";
import { setPodDefaults } from "../../src/kubelet/config/defaults.js";
import {
  FILE_CHECK_FREQUENCY_MS,
  FILE_WATCH_MAX_RETRY_MS,
  FILE_WATCH_RETRY_MS,
} from "../../src/kubelet/config/file.js";
import { HTTP_CHECK_FREQUENCY_MS, HTTP_TIMEOUT_MS } from "../../src/kubelet/config/http.js";
import { killPodTimeoutSeconds, MIN_GRACE_PERIOD_SECONDS } from "../../src/kubelet/podworkers/grace-period.js";
import { BasicWorkQueue } from "../../src/kubelet/podworkers/work-queue.js";
import { STATUS_CHANNEL_CAPACITY, STATUS_SYNC_PERIOD_MS } from "../../src/kubelet/status/manager.js";
import { FakeClock } from "../support/fake-clock.js";
import { makePod } from "./podworkers/pods.js";

const FACTS = "../shared/golden/facts.json";

/** The constants that no trace quotes, and so are not in the table of facts by release. */
const OURS: Readonly<Record<string, unknown>> = {
  "config.fileCheckFrequency": FILE_CHECK_FREQUENCY_MS / 1000,
  "config.fileWatchRetry": { initial: FILE_WATCH_RETRY_MS / 1000, cap: FILE_WATCH_MAX_RETRY_MS / 1000 },
  "config.httpCheckFrequency": HTTP_CHECK_FREQUENCY_MS / 1000,
  "config.httpTimeout": HTTP_TIMEOUT_MS / 1000,
  "config.waitForAPIServerSyncPeriod": WAIT_FOR_API_SERVER_SYNC_PERIOD_MS / 1000,
  "status.syncPeriod": STATUS_SYNC_PERIOD_MS / 1000,
  "status.channelCapacity": STATUS_CHANNEL_CAPACITY,
  "podWorkers.minimumGracePeriod": MIN_GRACE_PERIOD_SECONDS,
  "pod.defaultTerminationGracePeriodSeconds": setPodDefaults(makePod("a")).spec.terminationGracePeriodSeconds,
};

describe.skipIf(!existsSync(FACTS))(`constants of the real kubelet (${FACTS}; skipped where it is missing)`, () => {
  const golden = () =>
    new Map(
      (JSON.parse(readFileSync(FACTS, "utf8")) as { facts: { name: string; value: unknown }[] }).facts.map(
        ({ name, value }) => [name, value],
      ),
    );

  for (const [name, ours] of Object.entries(OURS)) {
    test(name, () => expect(ours).toEqual(golden().get(name)));
  }

  test("podWorkers.killPodTimeout", () => {
    expect(golden().get("podWorkers.killPodTimeout")).toBe("max(10, grace*1.5 in integer arithmetic: grace + grace/2)");
    expect([3, 7, 21].map(killPodTimeoutSeconds)).toEqual([10, 10, 31]);
  });

  test("workQueue.readyCondition", async () => {
    expect(golden().get("workQueue.readyCondition")).toBe("deadline strictly before now");
    const clock = new FakeClock();
    const queue = new BasicWorkQueue(clock);
    queue.enqueue("a", 10);
    await clock.advance(10);
    expect(queue.getWork()).toEqual([]);
    await clock.advance(1);
    expect(queue.getWork()).toEqual(["a"]);
  });
});
