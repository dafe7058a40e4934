import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { DEFAULT_GC_POLICY } from "../../../src/kubelet/container/generic-runtime.js";
import { IMAGE_BACK_OFF } from "../../../src/kubelet/images/image-manager.js";
import { CONTAINER_BACK_OFF } from "../../../src/kubelet/kuberuntime/do-back-off.js";
import { MINIMUM_GRACE_PERIOD_SECONDS } from "../../../src/kubelet/kuberuntime/kill-container.js";
import { Backoff } from "../../../src/staging/client-go/backoff.js";
import { factFor } from "../../../src/util/release/facts.js";
import { FakeClock } from "../../support/fake-clock.js";

const FACTS = "../shared/golden/facts.json";

/** Seconds, after the first failure, the second, ... */
function waits(options: { readonly initialMs: number; readonly maxMs: number }, count: number): number[] {
  const clock = new FakeClock();
  const backOff = new Backoff(clock, options);
  return Array.from({ length: count }, () => {
    backOff.next("a", clock.now());
    return backOff.get("a") / 1000;
  });
}

const OURS: Readonly<Record<string, unknown>> = {
  "containerRestart.backoffInitial": factFor("containerBackOffPeriod", "1.25") / 1000,
  "containerRestart.backoffCap": factFor("maxContainerBackOff", "1.25") / 1000,
  "containerRestart.backoffSequence": waits(CONTAINER_BACK_OFF, 8),
  "imagePull.backoffSequence": waits(IMAGE_BACK_OFF, 7),
  "containerKill.minimumGracePeriod": MINIMUM_GRACE_PERIOD_SECONDS,
  "kubelet.minDeadContainerInPod": DEFAULT_GC_POLICY.maxPerPodContainer,
};

describe.skipIf(!existsSync(FACTS))(`running pods as the real kubelet (${FACTS}; skipped where it is missing)`, () => {
  const golden = () =>
    new Map(
      (JSON.parse(readFileSync(FACTS, "utf8")) as { facts: { name: string; value: unknown }[] }).facts.map(
        ({ name, value }) => [name, value],
      ),
    );

  for (const [name, ours] of Object.entries(OURS)) {
    test(name, () => expect(ours).toEqual(golden().get(name)));
  }

  test("the table of facts matches the code", () => {
    expect(factFor("minimumGracePeriod", "1.25")).toBe(MINIMUM_GRACE_PERIOD_SECONDS * 1000);
    expect(CONTAINER_BACK_OFF.initialMs).toBe(factFor("containerBackOffPeriod", "1.25"));
    expect(IMAGE_BACK_OFF.maxMs).toBe(factFor("maxContainerBackOff", "1.25"));
  });
});
