import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";
import { FILE_CHECK_FREQUENCY_MS } from "../../../src/kubelet/config/file.js";
import type { Lab as LabType } from "./lab.js";
import { IMAGE, Lab, playSteps, pod, type Step, shell } from "./lab.js";

const MIRROR = "web-node-1";
const RUNS = "Running Ready c=running*/0";
let folder: string;

/** Half of a file is never what an editor means: it is written beside and moved in. */
const write =
  (file: string, content: object | string) =>
  async (_lab: LabType): Promise<void> => {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    await writeFile(join(folder, `.${file}`), text);
    await rename(join(folder, `.${file}`), join(folder, file));
  };
const remove = (file: string) => () => rm(join(folder, file));
const nothingRuns = (lab: LabType) => lab.untilNothingRuns(MIRROR);
const oneContainer = (lab: LabType) => {
  assert.equal(lab.containersOf(MIRROR).filter(({ state }) => state === "running").length, 1);
};
/** Makes a change and waits until another container runs in place of the first; the two never run together. */
const untilReplaced = (change: (lab: LabType) => Promise<void>) => async (lab: LabType) => {
  const { containerId } = lab.running(MIRROR);
  await change(lab);
  await lab.untilRuntime(() => {
    const running = lab.containersOf(MIRROR).filter(({ state }) => state === "running");
    assert.ok(running.length <= 1, "both run");
    return running.some((container) => container.containerId !== containerId);
  });
};

/**
 * Makes a change and waits until the kubelet has read all manifests again. Meanwhile a container may be replaced, or not: two never
 * run together.
 */
const untilReadAgain = (change: (lab: LabType) => Promise<void>) => async (lab: LabType) => {
  const running = () => lab.containersOf(MIRROR).filter(({ state }) => state === "running").length;
  const stop = new AbortController();
  const most = (async () => {
    let found = running();
    for await (const _ of lab.runtime.changes(stop.signal)) found = Math.max(found, running());
    return found;
  })();
  await change(lab);
  await lab.clock.sleep(FILE_CHECK_FREQUENCY_MS + 1_000);
  await lab.untilRuntime(() => running() === 1);
  stop.abort();
  assert.equal(await most, 1, "running at once");
};

const SCENARIOS: readonly { readonly name: string; readonly kubeVersion?: string; readonly steps: readonly Step[] }[] =
  [
    {
      name: "a manifest becomes a pod with a mirror; the file gone, both go",
      steps: [write("a.json", pod("web")), RUNS, remove("a.json"), "gone", nothingRuns],
    },
    {
      name: "a deleted mirror pod is created again, and the container keeps running",
      steps: [write("a.json", pod("web")), RUNS, (lab) => lab.deletePod(MIRROR, 0), "gone", RUNS, oneContainer],
    },
    {
      name: "a manifest that changes is another pod: the old one ends, the new one comes",
      steps: [
        write("a.json", pod("web")),
        RUNS,
        write("a.json", pod("web", { terminationGracePeriodSeconds: 3 })),
        "gone",
        RUNS,
        oneContainer,
      ],
    },
    {
      name: "two manifests of one name: one after the other, never both",
      steps: [
        write("a.json", pod("web")),
        RUNS,
        untilReplaced(write("b.json", pod("web", { terminationGracePeriodSeconds: 3 }))),
        untilReadAgain(remove("a.json")),
      ],
    },
    {
      name: "half a manifest is skipped, the others run; whole, it runs too",
      steps: [
        write("half.json", '{"apiVersion":"v1","kind":"Pod","metadata":{"na'),
        write("a.json", pod("web")),
        RUNS,
        write("half.json", pod("other")),
        (lab) => lab.history.until("other-node-1", RUNS).then(() => undefined),
        oneContainer,
      ],
    },
    {
      name: "a kubelet that is started again finds its static pod running",
      steps: [
        write("a.json", pod("web")),
        RUNS,
        async (lab) => {
          await lab.node.stop();
          await lab.node.start();
          await lab.createPod(pod("next"));
          await lab.history.until("next", RUNS);
        },
        oneContainer,
      ],
    },
    {
      name: "a static pod runs without an API server",
      steps: [
        (lab) => lab.link.cut(),
        write("a.json", pod("web")),
        async (lab) => {
          for await (const { kind } of lab.runtime.changes(new AbortController().signal)) {
            if (kind !== undefined && lab.containersOf(MIRROR).some(({ state }) => state === "running")) break;
          }
          lab.link.mend();
        },
        RUNS,
      ],
    },
    {
      name: "a manifest that comes back while its pod ends: the pod begins again (1.27)",
      kubeVersion: "1.27",
      steps: [
        write("a.json", pod("web", {}, shell("trap '' TERM; while true; do sleep 1; done"))),
        RUNS,
        remove("a.json"),
        (lab) => lab.untilEvent(MIRROR, "Killing"),
        write("a.json", pod("web", {}, shell("trap '' TERM; while true; do sleep 1; done"))),
        "Running Ready c=running*/1",
        oneContainer,
      ],
    },
    {
      name: "sidecars (1.29): they start first, run beside, again and again, and do not hold up the end",
      kubeVersion: "1.29",
      steps: [
        write(
          "a.json",
          pod("web", {
            restartPolicy: "Never",
            initContainers: [
              {
                name: "s",
                image: IMAGE,
                restartPolicy: "Always",
                ...shell("trap 'exit 0' TERM; while true; do sleep 1; done"),
              },
            ],
          }),
        ),
        "Running Ready s=running*/0 c=running*/0",
        // Whatever the pod's restart policy says, it is started again.
        (lab, name) => lab.runtime.killContainer(lab.running(name, "s").containerId, { exitCode: 1 }),
        "Running Ready s=running*/1 c=running*/0",
        (lab, name) => lab.runtime.killContainer(lab.running(name).containerId, { exitCode: 0 }),
        // It may not have come to listen to signals yet.
        /^Succeeded s=(Completed\(0\)|Error\(137\))\*?\/1 c=Completed\(0\)\/0$/,
      ],
    },
  ];

describe("what a watcher sees of static pods", () => {
  let lab: Lab | undefined;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "kubelab-manifests-"));
    writeFileSync(join(folder, ".ignored"), "{");
  });
  afterEach(async () => {
    await lab?.close();
    lab = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  for (const { name, steps, kubeVersion = "1.25" } of SCENARIOS) {
    test(name, async () => {
      lab = await Lab.start({ manifestDir: folder, kubeVersion });
      await playSteps(lab, MIRROR, steps);
      assert.equal(lab.node.failure, undefined);
    });
  }
});
