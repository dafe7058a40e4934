import { describe, expect, test } from "vitest";
import { evictionHandler } from "../../../../../../src/cluster/apiserver/registry/core/pods/eviction.js";
import type { KubeObject, Status } from "../../../../../../src/staging/apimachinery/api/meta.js";
import type { TraceEvent } from "../../../../../../src/trace/events.js";
import { Trace } from "../../../../../../src/trace/trace.js";
import { MISSING_RECORDINGS, recorded } from "../../../../../support/recordings.js";
import { only } from "../../../../../support/trace.js";
import { contextOf, openTableLab, refusal } from "../../table-lab.js";

interface EvictionOptions {
  readonly deleteOptions?: Readonly<Record<string, unknown>>;
  readonly query?: string;
  /** in the body; default: the pod's */
  readonly name?: string;
}

/** A store without controllers: the test plays the disruption controller. */
class EvictionLab {
  readonly facts: TraceEvent[] = [];
  readonly evictPod;

  static async open(kubeVersion = "1.25"): Promise<EvictionLab> {
    return new EvictionLab(await openTableLab(undefined, kubeVersion), kubeVersion);
  }

  constructor(
    readonly lab: Awaited<ReturnType<typeof openTableLab>>,
    kubeVersion: string,
  ) {
    const trace = new Trace(lab.clock);
    trace.addSink({ write: (event) => this.facts.push(event) });
    this.evictPod = evictionHandler({ clock: lab.clock, trace, kubeVersion });
  }

  evict(name: string, { deleteOptions, query = "", name: named = name }: EvictionOptions = {}) {
    const body = {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: named },
      ...(deleteOptions === undefined ? {} : { deleteOptions }),
    } as KubeObject;
    const request = { context: contextOf(), registry: this.lab.registry, namespace: "default", name, body };
    return this.evictPod({ ...request, query: new URLSearchParams(query) });
  }

  /** A pod that runs on a node. */
  async pod(name: string, { phase = "Running", isReady = true } = {}): Promise<void> {
    const spec = { nodeName: "n", containers: [{ name: "c", image: "x" }] };
    const created = await this.lab.create("pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { app: "a" } },
      spec,
    });
    const conditions = [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: null }];
    await this.lab.put("pods", name, { ...created, status: { phase, conditions } }, { subresource: "status" });
  }

  /** @param status what the disruption controller has written */
  async budget(name: string, status: object = {}, spec: object = {}): Promise<void> {
    const selector = { matchLabels: { app: "a" } };
    const body = {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name },
      spec: { minAvailable: 1, selector, ...spec },
    };
    const created = await this.lab.create("poddisruptionbudgets", body);
    const counted = {
      observedGeneration: 1,
      disruptionsAllowed: 1,
      currentHealthy: 2,
      desiredHealthy: 1,
      expectedPods: 2,
      ...status,
    };
    await this.lab.put("poddisruptionbudgets", name, { ...created, status: counted }, { subresource: "status" });
  }

  async budgetStatus(name: string): Promise<Record<string, unknown>> {
    const { status } = await this.lab.registry.store("poddisruptionbudgets.policy").get("default", name);
    return status as Record<string, unknown>;
  }

  async isMarked(name: string): Promise<boolean> {
    const { metadata } = await this.lab.registry.store("pods").get("default", name);
    return metadata.deletionTimestamp !== undefined;
  }

  why(): string[] {
    return only(this.facts, "decision").map(({ what, why }) => `${what}: ${why}`);
  }
}

const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget.";
const shown = ({ code, message, details }: Status) => [
  code,
  message,
  details?.retryAfterSeconds,
  details?.causes?.[0]?.message,
];

type Row = readonly [title: string, story: (lab: EvictionLab) => Promise<unknown>, want: unknown];

const table: readonly Row[] = [
  [
    "without a budget the pod is marked, with the grace period of the request",
    async (lab) => {
      await lab.pod("a");
      const { code } = await lab.evict("a", { deleteOptions: { gracePeriodSeconds: 3 } });
      const { metadata } = await lab.lab.registry.store("pods").get("default", "a");
      return [code, metadata.deletionGracePeriodSeconds, lab.why()];
    },
    [201, 3, ["evict pod default/a: it has no disruption budget"]],
  ],
  [
    "a budget with a disruption to give loses one, and notes the pod",
    async (lab) => {
      await lab.pod("a");
      await lab.budget("b", { disruptionsAllowed: 2, currentHealthy: 3 });
      await lab.evict("a");
      const { disruptionsAllowed, disruptedPods, conditions } = await lab.budgetStatus("b");
      return [await lab.isMarked("a"), disruptionsAllowed, Object.keys(disruptedPods as object), conditions, lab.why()];
    },
    [
      true,
      1,
      ["a"],
      undefined,
      ["evict pod default/a: disruption budget b allows 2 disruptions: it needs 1 healthy pods and has 3 currently"],
    ],
  ],
  [
    "the last disruption changes the condition as well",
    async (lab) => {
      await lab.pod("a");
      await lab.budget("b");
      await lab.evict("a");
      const { conditions } = await lab.budgetStatus("b");
      const [{ type, status, reason }] = conditions as [Record<string, unknown>];
      return [type, status, reason];
    },
    ["DisruptionAllowed", "False", "InsufficientPods"],
  ],
  [
    "two evictions get no more than one disruption",
    async (lab) => {
      await lab.pod("a");
      await lab.pod("c");
      await lab.budget("b");
      await lab.evict("a");
      return [shown(await refusal(lab.evict("c"))), await lab.isMarked("c")];
    },
    [[429, REFUSED, undefined, "The disruption budget b needs 1 healthy pods and has 2 currently"], false],
  ],
  [
    "two evictions at once get no more than one, too",
    async (lab) => {
      await lab.pod("a");
      await lab.pod("c");
      await lab.budget("b");
      const both = Promise.allSettled([lab.evict("a"), lab.evict("c")]);
      await lab.lab.clock.advance(1_000);
      return (await both).map(({ status }) => status).sort();
    },
    ["fulfilled", "rejected"],
  ],
  [
    "a budget that the controller has not seen refuses, for ten seconds",
    async (lab) => {
      await lab.pod("a");
      await lab.budget("b", { observedGeneration: 0 });
      return [shown(await refusal(lab.evict("a"))), await lab.isMarked("a")];
    },
    [[429, REFUSED, 10, "The disruption budget b is still being processed by the server."], false],
  ],
  [
    "a negative number is refused",
    async (lab) => {
      await lab.pod("a");
      await lab.budget("b");
      await lab.lab.registry
        .store("poddisruptionbudgets.policy")
        .update(contextOf(), "default", "b", "status", (budget) => ({
          ...(budget as KubeObject),
          status: { ...(budget?.status as object), disruptionsAllowed: -1 },
        }));
      return shown(await refusal(lab.evict("a"))).slice(0, 2);
    },
    [403, 'poddisruptionbudget.policy "b" is forbidden: pdb disruptions allowed is negative'],
  ],
  [
    "too many evictions that the controller has not seen",
    async (lab) => {
      await lab.pod("a");
      const names = Array.from({ length: 2_001 }, (_, i) => [`p${i}`, "2026-01-01T00:00:00Z"]);
      await lab.budget("b", { disruptedPods: Object.fromEntries(names) });
      return (await refusal(lab.evict("a"))).message?.replace(/.*forbidden: /, "");
    },
    "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
  ],
  [
    "a pod with two budgets cannot be evicted",
    async (lab) => {
      await lab.pod("a");
      await lab.budget("b");
      await lab.budget("c");
      return shown(await refusal(lab.evict("a"))).slice(0, 2);
    },
    [500, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."],
  ],
  [
    "an empty selector has all pods of the namespace",
    async (lab) => {
      await lab.pod("a");
      await lab.budget("b", { disruptionsAllowed: 0 }, { selector: {} });
      return (await refusal(lab.evict("a"))).code;
    },
    429,
  ],
  [
    "a selector of other pods does not count",
    async (lab) => {
      await lab.pod("a");
      await lab.budget("b", { disruptionsAllowed: 0 }, { selector: { matchLabels: { app: "other" } } });
      return (await lab.evict("a")).code;
    },
    201,
  ],
  ...["Pending", "Succeeded", "Failed"].map(
    (phase): Row => [
      `a pod that is ${phase} goes whatever its budget says`,
      async (lab) => {
        await lab.pod("a", { phase });
        await lab.budget("b", { disruptionsAllowed: 0 });
        const { code } = await lab.evict("a");
        return [code, (await lab.budgetStatus("b"))["disruptedPods"], lab.why()];
      },
      [
        201,
        undefined,
        [`evict pod default/a: ${phase === "Pending" ? "it does not run yet" : "it has ended or is ending"}`],
      ],
    ],
  ),
  [
    "a pod that ends already goes as well",
    async (lab) => {
      await lab.pod("a");
      await lab.evict("a");
      await lab.budget("b", { disruptionsAllowed: 0 });
      return [(await lab.evict("a")).code, lab.why().at(-1)];
    },
    [201, "evict pod default/a: it has ended or is ending"],
  ],
  [
    "a pod that is not ready goes if enough others are healthy, and takes no disruption",
    async (lab) => {
      await lab.pod("a", { isReady: false });
      await lab.budget("b", { disruptionsAllowed: 0, currentHealthy: 1 });
      const { code } = await lab.evict("a");
      return [code, (await lab.budgetStatus("b"))["disruptedPods"], lab.why()];
    },
    [201, undefined, ["evict pod default/a: it is not ready, so disruption budget b does not guard it"]],
  ],
  [
    "a pod that is not ready stays if too few others are",
    async (lab) => {
      await lab.pod("a", { isReady: false });
      await lab.budget("b", { disruptionsAllowed: 0, currentHealthy: 0 });
      return (await refusal(lab.evict("a"))).code;
    },
    429,
  ],
  [
    "a version in the request is kept: a conflict is answered",
    async (lab) => {
      await lab.pod("a", { isReady: false });
      await lab.budget("b", { disruptionsAllowed: 0, currentHealthy: 1 });
      const deleteOptions = { preconditions: { resourceVersion: "1" } };
      return (await refusal(lab.evict("a", { deleteOptions }))).code;
    },
    409,
  ],
  [
    "another uid in the request is a conflict",
    async (lab) => {
      await lab.pod("a");
      return (await refusal(lab.evict("a", { deleteOptions: { preconditions: { uid: "other" } } }))).code;
    },
    409,
  ],
  [
    "a dry run in the body changes neither pod nor budget",
    async (lab) => {
      await lab.pod("a");
      await lab.budget("b");
      const { code } = await lab.evict("a", { deleteOptions: { dryRun: ["All"] } });
      return [code, await lab.isMarked("a"), (await lab.budgetStatus("b"))["disruptionsAllowed"]];
    },
    [201, false, 1],
  ],
  [
    "a dry run is refused by a budget as well",
    async (lab) => {
      await lab.pod("a");
      await lab.budget("b", { disruptionsAllowed: 0 });
      return (await refusal(lab.evict("a", { deleteOptions: { dryRun: ["All"] } }))).code;
    },
    429,
  ],
  [
    "two different dry runs",
    async (lab) => {
      await lab.pod("a");
      return (await refusal(lab.evict("a", { deleteOptions: { dryRun: ["All"] }, query: "dryRun=None" }))).message;
    },
    "Non-matching dry-run options in request and content: [None] and [All]",
  ],
  [
    "until 1.25 the pod gets no condition",
    async (lab) => {
      await lab.pod("a");
      await lab.evict("a");
      const { status } = await lab.lab.registry.store("pods").get("default", "a");
      return (status as { conditions: readonly { type: string }[] }).conditions.map(({ type }) => type);
    },
    ["Ready"],
  ],
];

test.each(table)("eviction: %s", async (_title, story, want) => {
  expect(await story(await EvictionLab.open())).toEqual(want);
});

describe("later releases", () => {
  test("1.26: the pod gets the condition DisruptionTarget, also with a version in the request", async () => {
    const lab = await EvictionLab.open("1.26");
    await lab.pod("a", { isReady: false });
    await lab.budget("b", { disruptionsAllowed: 0, currentHealthy: 1 });
    await lab.evict("a");
    const { status } = await lab.lab.registry.store("pods").get("default", "a");
    const condition = (status as { conditions: readonly { type: string }[] }).conditions.at(-1);
    expect(condition).toMatchObject({
      type: "DisruptionTarget",
      reason: "EvictionByEvictionAPI",
      message: "Eviction API: evicting",
    });
    expect(await lab.isMarked("a")).toBe(true);
  });

  test.each([
    ["1.26", 429],
    ["1.27", 201],
  ])("%s: AlwaysAllow lets pods go that are not ready: %i", async (kubeVersion, want) => {
    const lab = await EvictionLab.open(kubeVersion);
    await lab.pod("a", { isReady: false });
    const unhealthyPodEvictionPolicy = "AlwaysAllow";
    await lab.budget("b", { disruptionsAllowed: 0, currentHealthy: 0 }, { unhealthyPodEvictionPolicy });
    const code = await lab.evict("a").then(
      (answer) => answer.code,
      ({ status }: { status: Status }) => status.code,
    );
    expect(code).toBe(want);
  });
});

describe.skipIf(MISSING_RECORDINGS !== undefined)("as recorded", () => {
  const wanted = (name: string) => recorded("pods").find((one) => one.name === name)?.response.body;

  test("a refusal by a budget, and another name", async () => {
    const lab = await EvictionLab.open();
    await lab.pod("e2");
    await lab.budget("e2", { disruptionsAllowed: 0, currentHealthy: 1 });
    expect(await refusal(lab.evict("e2"))).toEqual(wanted("eviction: refused by the budget"));
    expect(await refusal(lab.evict("e2", { name: "other" }))).toEqual(wanted("eviction: names differ"));
  });
});
