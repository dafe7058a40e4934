import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, test } from "vitest";
import { Lab, pod, shell } from "./lab.js";
import { privateSizes } from "./private-sizes.js";

/** `npm run soak`: 10,000 */
const LIVES = Number(process.env["KUBELAB_SOAK_LIVES"] ?? 100);
const AT_ONCE = 60;
const WARM_UP = AT_ONCE;
const SOAK_SPEED = 20;
/** What a list may hold more than before, by what happens to be under way. */
const SLACK = 8;
/** Bounded by design, and not full after a warm-up. */
const BOUNDED: readonly [path: RegExp, max: number][] = [
  // As client-go's caches of events: the oldest is forgotten.
  [/recorder\.#(correlator|written)|reasonCache\.#items/, 4_096],
  // What has been quiet for ten minutes is forgotten; a life takes some hundredths of that.
  [/backOff\.#entries/, 1_000],
  [/provider\.#cpu\.#records/, 1_000],
  // Secret values that a trace masks, such as each pod's token; each has a few forms. The oldest is forgotten.
  [/secrets\.#values/, 2_000],
  [/secrets\.#byBeginning/, 20_000],
];
/** What must be among the counted, wherever else a list may be. */
const WALKED: readonly RegExp[] = [
  /podWorkers\.#table\.statuses$/,
  /statusManager\.#statuses$/,
  /statusManager\.#writer\.#versions$/,
  /[cC]ache\.#pods$/,
  /[cC]ache\.#waiters$/,
  /workQueue\.#/,
  /[tT]okens\.#tokens$/,
  /configMaps\.cache\.#items$/,
  /prober\.#workers$/,
  /volumes\.#pods$/,
];
const MB_PER_1000_LIVES = 12;
/** Shows progress when it is run interactively. */
const IS_TOLD = process.env["KUBELAB_SOAK_LIVES"] !== undefined;
const TELL_EVERY = Math.max(50, Math.round(LIVES / 20));
/** Of the wall. A life takes some 50 ms on a quiet machine, and ten times as long on one that is shared. */
const TIMEOUT_MS = 60_000 + LIVES * 600;

interface Counts {
  readonly sizes: ReadonlyMap<string, number>;
  readonly resources: Readonly<Record<string, number>>;
  readonly abortListeners: number;
  readonly heapMb: number;
}

describe(`${LIVES} lives of pods leave nothing behind`, () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await Lab.start({ speed: SOAK_SPEED });
    await lab.create("/api/v1/namespaces/default/configmaps", { metadata: { name: "shared" }, data: { a: "1" } });
  });
  afterAll(() => lab.close());

  test(
    "maps, lists, timers, handles, listeners and memory are as before",
    async () => {
      await live(lab, 0, WARM_UP);
      const before = await count(lab);
      await live(lab, WARM_UP, LIVES);
      const after = await count(lab);
      if (IS_TOLD) report(before, after);
      const grown = [...after.sizes]
        .filter(
          ([path, size]) =>
            size > (BOUNDED.find(([one]) => one.test(path))?.[1] ?? (before.sizes.get(path) ?? 0) + SLACK),
        )
        .map(([path, size]) => `${path}: ${before.sizes.get(path) ?? 0} -> ${size}`);
      assert.deepEqual(grown, []);
      const paths = [...after.sizes.keys()];
      const missing = WALKED.filter((wanted) => !paths.some((path) => wanted.test(path)));
      assert.deepEqual(missing, [], `not counted; counted are ${paths.join(" ")}`);
      for (const [type, amount] of Object.entries(after.resources)) {
        // Connections are kept for the next requests, as many as there were at once.
        const slack = type === "TCPSocketWrap" ? AT_ONCE : SLACK;
        assert.ok(amount <= (before.resources[type] ?? 0) + slack, `${type}: ${before.resources[type]} -> ${amount}`);
      }
      assert.ok(after.abortListeners <= before.abortListeners + SLACK, `abort listeners: ${after.abortListeners}`);
      const grownMb = after.heapMb - before.heapMb;
      assert.ok(grownMb < 20 + (LIVES / 1_000) * MB_PER_1000_LIVES, `heap grew by ${grownMb.toFixed(1)} MB`);
    },
    TIMEOUT_MS,
  );
});

function report(before: Counts, after: Counts): void {
  const lines = [
    `heap MB ${before.heapMb.toFixed(1)} -> ${after.heapMb.toFixed(1)}`,
    `abort listeners ${before.abortListeners} -> ${after.abortListeners}`,
    `resources ${JSON.stringify(before.resources)} -> ${JSON.stringify(after.resources)}`,
    ...[...after.sizes]
      .filter(([, size]) => size > 0 || process.env["KUBELAB_SOAK_VERBOSE"] !== undefined)
      .map(([path, size]) => `${path} ${before.sizes.get(path)} -> ${size}`),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

/** Pods of several kinds, from creation until they are gone, so many at a time. */
async function live(lab: Lab, from: number, amount: number): Promise<void> {
  const startMs = performance.now();
  let next = from;
  let lived = 0;
  const lane = async () => {
    for (let i = next++; i < from + amount; i = next++) {
      await liveOnce(lab, i);
      lived++;
      if (IS_TOLD && lived % TELL_EVERY === 0) tell(lived, amount, performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

function tell(lived: number, amount: number, ms: number): void {
  const seconds = Math.round(ms / 1_000);
  const left = Math.round((seconds / lived) * (amount - lived));
  const heapMb = Math.round(process.memoryUsage().heapUsed / 1_000_000);
  process.stdout.write(`${lived} of ${amount} lives in ${seconds} s, about ${left} s to go; heap ${heapMb} MB\n`);
}

async function liveOnce(lab: Lab, i: number): Promise<void> {
  const name = `life-${i}`;
  const [make, until] = KINDS[i % KINDS.length] as (typeof KINDS)[number];
  await lab.createPod(make(name));
  await lab.history.until(name, until);
  await lab.deletePod(name);
  await lab.history.until(name, "gone");
  lab.history.forget(name);
}

const probe = { exec: { command: ["true"] }, periodSeconds: 2 };
const volumes = [{ name: "v", configMap: { name: "shared" } }];
const KINDS: readonly [make: (name: string) => object, until: RegExp][] = [
  [(name) => pod(name), /Ready/],
  [(name) => pod(name, { restartPolicy: "Never" }, shell("exit 0")), /^Succeeded/],
  [(name) => pod(name, {}, { readinessProbe: probe, livenessProbe: probe }), /Ready/],
  [(name) => pod(name, { volumes }, { volumeMounts: [{ name: "v", mountPath: "/v" }] }), /Ready/],
  [(name) => pod(name, { automountServiceAccountToken: true }), /Ready/],
  [(name) => pod(name, {}, shell("exit 1")), /CrashLoopBackOff/],
  [(name) => pod(name, {}, { image: "does-not-exist" }), /ErrImagePull|ImagePullBackOff/],
  [(name) => pod(name, {}, { resources: { requests: { cpu: "64" } } }), /^Failed/],
];

/** When all has come to rest: housekeeping, garbage collection and the status manager have had their turns. */
async function count(lab: Lab): Promise<Counts> {
  const { kubelet } = lab.node;
  assert.ok(kubelet !== undefined);
  for (let i = 0; i < 40 && !isAtRest(lab); i++) await lab.clock.sleep(30_000);
  assert.deepEqual(lab.runtime.snapshot().sandboxes, []);
  // Makes the families: they come with the first reading, or after so many measurements.
  await Promise.all([kubelet.kubelet.metrics.text(), kubelet.kubelet.prober.metrics.text()]);
  setFlagsFromString("--expose_gc");
  (runInNewContext("gc") as () => void)();
  const resources: Record<string, number> = {};
  for (const type of process.getActiveResourcesInfo()) resources[type] = (resources[type] ?? 0) + 1;
  return {
    sizes: await privateSizes({ kubelet: kubelet.kubelet }),
    resources,
    abortListeners: getEventListeners(kubelet.kubelet.signal, "abort").length,
    heapMb: process.memoryUsage().heapUsed / 1_000_000,
  };
}

function isAtRest(lab: Lab): boolean {
  const kubelet = lab.node.kubelet?.kubelet;
  return lab.runtime.snapshot().sandboxes.length === 0 && kubelet?.podWorkers.views().length === 0;
}
