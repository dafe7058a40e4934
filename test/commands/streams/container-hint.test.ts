import assert from "node:assert/strict";
import { test } from "vitest";
import { containerHint, explainContainer } from "../../../src/commands/streams/container-hint.js";
import type { V1ContainerState, V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { LabError } from "../../../src/util/errors.js";
import { containerStatus } from "../../support/container-status.js";

function podOf(state: V1ContainerState, restartCount = 0): V1Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "default", uid: "u1" },
    spec: { containers: [{ name: "app" }, { name: "side" }], initContainers: [{ name: "init" }] },
    status: { phase: "Running", containerStatuses: [containerStatus({ state, restartCount })] },
  };
}

const running = { running: { startedAt: null } };

const HINTS: readonly (readonly [what: string, pod: V1Pod, container: string, want: RegExp | undefined])[] = [
  ["one that runs", podOf(running), "app", undefined],
  ["one that nothing is known of", podOf(running), "side", undefined],
  ["none named: the first", podOf({ waiting: {} }), "", /^The container app does not run; see the reason/],
  ["a wrong name", podOf(running), "ap", /^The pod web has the containers app, side, init\.$/],
  [
    "one that waits for its first start",
    podOf({ waiting: { reason: "ErrImagePull" } }),
    "app",
    /\(ErrImagePull\).*describe pod web/,
  ],
  [
    "one that crashes again and again",
    podOf({ waiting: { reason: "CrashLoopBackOff" } }, 3),
    "app",
    /\(CrashLoopBackOff\).*logs web -c app --previous/,
  ],
  [
    "one that has ended",
    podOf({ terminated: { exitCode: 3 } }),
    "app",
    /ended with exit code 3; see its output: kubelab logs web -c app$/,
  ],
];

for (const [what, pod, container, want] of HINTS) {
  test(`what to do about a container: ${what}`, async () => {
    const hint = containerHint(pod, container);
    if (want === undefined) assert.equal(hint, undefined);
    else assert.match(hint ?? "", want);
    const refused = new LabError("REFUSED", "500 container not found", "Look.");
    const ask = () => Promise.reject(refused);
    await assert.rejects(explainContainer(pod, container, ask), (error) => {
      assert.ok(error instanceof LabError);
      assert.deepEqual([error.message, error.hint], ["500 container not found", hint ?? "Look."]);
      return true;
    });
  });
}

test("an error that is not a refusal keeps its hint; an end is passed on", async () => {
  const pod = podOf({ waiting: {} });
  const other = new LabError("CLUSTER_UNREACHABLE", "nobody answers", "Start it.");
  await assert.rejects(
    explainContainer(pod, "app", () => Promise.reject(other)),
    (error) => error === other,
  );
  assert.match((await explainContainer(pod, "app", async (hint) => hint)) ?? "", /does not run/);
});

test("one that was seen to start has no hint of the status, which may be older; a wrong name has", async () => {
  const pod = podOf({ waiting: { reason: "ContainerCreating" } });
  assert.equal(await explainContainer(pod, "app", async (hint) => hint, true), undefined);
  assert.match((await explainContainer(pod, "ap", async (hint) => hint, true)) ?? "", /has the containers app/);
  const refused = new LabError("REFUSED", "403", "Use --protocol v4.");
  const asked = explainContainer(pod, "app", () => Promise.reject(refused), true);
  await assert.rejects(asked, (error) => error === refused);
});
