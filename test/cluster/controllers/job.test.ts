import { describe, expect, test } from "vitest";
import { hasTrackingFinalizer, type JobObject } from "../../../src/cluster/controllers/job/utils.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import type { PodObject } from "../../../src/staging/apimachinery/api/objects.js";
import { statusError } from "../../../src/staging/apimachinery/errors.js";
import { only } from "../../support/trace.js";
import { type StageOptions, WorkloadStage } from "./support/workload-stage.js";

const JOBS = "jobs.batch";
const INDEX = "batch.kubernetes.io/job-completion-index";

function template(restartPolicy = "Never") {
  return { spec: { restartPolicy, containers: [{ name: "c", image: "busybox" }] } };
}

function job(spec: object = {}, metadata: object = {}): object {
  const all = { template: template(), ...spec };
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi", ...metadata }, spec: all };
}

async function statusOf(stage: WorkloadStage) {
  return (await stage.get<JobObject>(JOBS, "pi")).status ?? {};
}

/** `1 active, 2 succeeded, 0 failed` and the conditions that are True. */
async function summary(stage: WorkloadStage): Promise<string> {
  const { active = 0, succeeded = 0, failed = 0, conditions = [] } = await statusOf(stage);
  const ends = conditions
    .filter(({ status }) => status === "True")
    .map(({ type, reason }) => `${type} ${reason ?? ""}`);
  return [`${active}/${succeeded}/${failed}`, ...ends].join(" ").trim();
}

async function active(stage: WorkloadStage): Promise<PodObject[]> {
  return (await stage.pods()).filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined && status?.phase !== "Succeeded" && status?.phase !== "Failed",
  );
}

/** Ends active pods, and lets the controller see it: it collects changes for a second. */
async function end(
  stage: WorkloadStage,
  phase: "Succeeded" | "Failed",
  count = 100,
  status: object = {},
): Promise<void> {
  await stage.setStatus((await active(stage)).slice(0, count), { phase, ...status });
  await stage.pass(1);
}

function indexesOf(pods: readonly PodObject[]): string {
  return pods
    .map(({ metadata }) => metadata.annotations?.[INDEX] ?? "-")
    .sort()
    .join();
}

function jobEvents(stage: WorkloadStage): string[] {
  return stage.events().filter((event) => !/Created pod|Deleted pod/.test(event));
}

const exitCode = (code: number) => ({
  containerStatuses: [{ name: "c", state: { terminated: { exitCode: code } }, restartCount: 0 }],
});
const failurePolicy = (...rules: readonly object[]) => ({ podFailurePolicy: { rules } });
const FAIL_ON_42 = { action: "FailJob", onExitCodes: { operator: "In", values: [42] }, onPodConditions: [] };
const IGNORE_DISRUPTIONS = { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] };

type Row = readonly [
  title: string,
  story: (stage: WorkloadStage) => Promise<unknown>,
  want: unknown,
  options?: StageOptions,
];

const table: readonly Row[] = [
  [
    "a job with one completion runs one pod and completes",
    async (stage) => {
      await stage.create(JOBS, job());
      const first = await summary(stage);
      await end(stage, "Succeeded");
      const { startTime, completionTime, ready, uncountedTerminatedPods } = await statusOf(stage);
      return [first, await summary(stage), startTime, completionTime, ready, uncountedTerminatedPods];
    },
    ["1/0/0", "0/1/0 Complete", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", 0, {}],
  ],
  [
    "its decisions have their numbers",
    async (stage) => {
      await stage.create(JOBS, job());
      await end(stage, "Succeeded");
      return stage.decisions();
    },
    [
      "create 1 pod for Job default/pi: 0 pods active, 1 wanted: 0 of 1 completions, parallelism 1",
      "finish Job default/pi: Complete: 1 of 1 completions, 0 failed",
    ],
  ],
  [
    "a decision is caused by the watch event that made it due",
    async (stage) => {
      await stage.create(JOBS, job());
      await stage.pass(2);
      await end(stage, "Succeeded");
      const facts = new Map(stage.on.facts.map((fact) => [fact.id, fact]));
      const finish = only(stage.on.facts, "decision").find(({ what }) => what.startsWith("finish"));
      const cause = facts.get(finish?.causedBy ?? "");
      return cause?.kind === "watch" ? `${cause.type} ${cause.resource}` : cause?.kind;
    },
    "MODIFIED pods",
  ],
  [
    "its pods have a finalizer until they are counted",
    async (stage) => {
      await stage.create(JOBS, job());
      const before = (await stage.pods()).map(hasTrackingFinalizer);
      await end(stage, "Succeeded");
      return [before, (await stage.pods()).map(hasTrackingFinalizer)];
    },
    [[true], [false]],
  ],
  [
    "parallelism and completions: no more pods than completions are left",
    async (stage) => {
      await stage.create(JOBS, job({ parallelism: 2, completions: 3 }));
      const seen = [await summary(stage)];
      for (let round = 0; round < 2; round++) {
        await end(stage, "Succeeded");
        seen.push(await summary(stage));
      }
      return seen;
    },
    ["2/0/0", "1/2/0", "0/3/0 Complete"],
  ],
  [
    "a work queue: after one success the others may end, and none is added",
    async (stage) => {
      await stage.create(JOBS, job({ parallelism: 3 }));
      await end(stage, "Succeeded", 1);
      const seen = [await summary(stage)];
      await end(stage, "Succeeded");
      return [...seen, await summary(stage)];
    },
    ["2/1/0", "0/3/0 Complete"],
  ],
  [
    "a job with 0 completions completes without pods",
    async (stage) => {
      await stage.create(JOBS, job({ completions: 0 }));
      return [await summary(stage), (await stage.pods()).length];
    },
    ["0/0/0 Complete", 0],
  ],
  [
    "parallelism 0 runs nothing until it is raised",
    async (stage) => {
      await stage.create(JOBS, job({ completions: 2, parallelism: 0 }));
      const before = await summary(stage);
      await stage.changeSpec(JOBS, "pi", { parallelism: 2 });
      return [before, await summary(stage)];
    },
    ["0/0/0", "2/0/0"],
  ],
  [
    "lower parallelism deletes pods, which do not count as failed",
    async (stage) => {
      await stage.create(JOBS, job({ completions: 5, parallelism: 4 }));
      await stage.start((await stage.pods()).slice(0, 2));
      await stage.pass(2);
      await stage.changeSpec(JOBS, "pi", { parallelism: 2 });
      await stage.pass(2);
      const left = await active(stage);
      return [await summary(stage), left.map(({ spec }) => spec?.nodeName), stage.decisions().at(-1)];
    },
    [
      "2/0/0",
      ["n1", "n1"],
      "delete 2 pods of Job default/pi: 4 pods active, 2 wanted: 0 of 5 completions, parallelism 2",
    ],
  ],
  [
    "ready pods are counted",
    async (stage) => {
      await stage.create(JOBS, job({ completions: 2, parallelism: 2 }));
      await stage.start((await stage.pods()).slice(0, 1));
      await stage.pass(1);
      return (await statusOf(stage)).ready;
    },
    1,
  ],
  [
    "a failed pod is replaced at once, and the sync counts as failed",
    async (stage) => {
      await stage.create(JOBS, job());
      await stage.pass(2);
      await stage.setStatus(await active(stage), { phase: "Failed" });
      return [await summary(stage), stage.decisions().filter((one) => one.startsWith("sync"))[0]];
    },
    [
      "1/0/1",
      'sync Job default/pi again in 10s: failed pod(s) detected for job key "default/pi": retry 1 in a row, and each waits twice as long',
    ],
  ],
  [
    "from 1.27 on, each failure since the last success doubles the wait for the next pod",
    async (stage) => {
      await stage.create(JOBS, job({ completions: 2 }));
      const seen: unknown[] = [];
      for (const seconds of [9, 19]) {
        await end(stage, "Failed");
        await stage.pass(seconds - 1);
        seen.push((await active(stage)).length);
        await stage.pass(1);
        seen.push((await active(stage)).length);
      }
      await end(stage, "Succeeded");
      return [...seen, await summary(stage), stage.decisions().filter((one) => one.startsWith("wait"))];
    },
    [
      0,
      1,
      0,
      1,
      "1/1/2",
      [
        "wait 10s before Job default/pi gets another pod: 1 pod failed since the last success",
        "wait 20s before Job default/pi gets another pod: 2 pods failed since the last success",
      ],
    ],
    { kubeVersion: "1.27" },
  ],
  [
    "more failed pods than backoffLimit fail the job",
    async (stage) => {
      await stage.create(JOBS, job({ backoffLimit: 1 }));
      await end(stage, "Failed");
      await end(stage, "Failed");
      await stage.pass(30);
      const condition = (await statusOf(stage)).conditions?.[0];
      return [await summary(stage), condition?.message, jobEvents(stage), (await active(stage)).length];
    },
    [
      "0/0/2 Failed BackoffLimitExceeded",
      "Job has reached the specified backoff limit",
      ["Warning BackoffLimitExceeded Job has reached the specified backoff limit"],
      0,
    ],
  ],
  [
    "with backoffLimit 0 the first failure ends it, and the other pods are deleted and count as failed",
    async (stage) => {
      await stage.create(JOBS, job({ backoffLimit: 0, parallelism: 3, completions: 3 }));
      await stage.start();
      await end(stage, "Failed", 1);
      await stage.pass(2);
      return [await summary(stage), stage.decisions().find((one) => one.startsWith("delete 2 pods"))];
    },
    ["0/0/3 Failed BackoffLimitExceeded", "delete 2 pods of Job default/pi: 1 pod failed, backoffLimit 0"],
  ],
  [
    "restartPolicy OnFailure counts restarts of containers",
    async (stage) => {
      await stage.create(JOBS, job({ backoffLimit: 2, template: template("OnFailure") }));
      await stage.start();
      await stage.setStatus(await stage.pods(), { containerStatuses: [{ name: "c", restartCount: 2 }] });
      await stage.pass(1);
      return [await summary(stage), stage.decisions().find((one) => one.startsWith("delete"))];
    },
    ["0/0/1 Failed BackoffLimitExceeded", "delete 1 pod of Job default/pi: 2 restarts of containers, backoffLimit 2"],
  ],
  [
    "activeDeadlineSeconds fails it, without another event",
    async (stage) => {
      await stage.create(JOBS, job({ activeDeadlineSeconds: 30 }));
      await stage.pass(29);
      const before = await summary(stage);
      await stage.pass(1);
      return [before, await summary(stage), jobEvents(stage)];
    },
    [
      "1/0/0",
      "0/0/1 Failed DeadlineExceeded",
      ["Warning DeadlineExceeded Job was active longer than specified deadline"],
    ],
  ],
  [
    "a deadline that is set later counts from the start",
    async (stage) => {
      await stage.create(JOBS, job());
      await stage.pass(20);
      await stage.changeSpec(JOBS, "pi", { activeDeadlineSeconds: 25 });
      const before = await summary(stage);
      await stage.pass(5);
      return [before, await summary(stage)];
    },
    ["1/0/0", "0/0/1 Failed DeadlineExceeded"],
  ],
  [
    "suspend deletes its pods, which do not count; resume starts again",
    async (stage) => {
      await stage.create(JOBS, job({ parallelism: 2, completions: 2, activeDeadlineSeconds: 100 }));
      await stage.pass(30);
      await stage.changeSpec(JOBS, "pi", { suspend: true });
      const seen = [await summary(stage), (await stage.pods()).length];
      await stage.pass(60);
      await stage.changeSpec(JOBS, "pi", { suspend: false });
      const { startTime } = await statusOf(stage);
      // The deadline counts from the resumption.
      await stage.pass(50);
      return [...seen, startTime, await summary(stage), jobEvents(stage)];
    },
    [
      "0/0/0 Suspended JobSuspended",
      0,
      "2026-01-01T00:01:30Z",
      "2/0/0",
      ["Normal Suspended Job suspended", "Normal Resumed Job resumed"],
    ],
  ],
  [
    "a job that is created suspended has no start time",
    async (stage) => {
      await stage.create(JOBS, job({ suspend: true }));
      const { startTime, conditions } = await statusOf(stage);
      return [startTime, conditions?.[0]?.type, (await stage.pods()).length];
    },
    [undefined, "Suspended", 0],
  ],
  [
    "an indexed job gives each pod an index, a host name and a variable",
    async (stage) => {
      await stage.create(JOBS, job({ completionMode: "Indexed", completions: 3, parallelism: 2 }));
      const [pod] = await stage.pods();
      const [variable] = pod?.spec?.containers[0]?.env ?? [];
      return [
        indexesOf(await stage.pods()),
        pod?.spec?.hostname,
        variable?.name,
        variable?.valueFrom?.fieldRef?.fieldPath,
        /^pi-0-[a-z0-9]{5}$/.test(pod?.metadata.name ?? ""),
        stage.decisions()[0],
      ];
    },
    [
      "0,1",
      "pi-0",
      "JOB_COMPLETION_INDEX",
      `metadata.annotations['${INDEX}']`,
      true,
      "create 2 pods for Job default/pi with index 0,1: 0 pods active, 2 wanted: 0 of 3 completions, parallelism 2",
    ],
  ],
  [
    "an indexed job retries the index that failed, and lists those that succeeded",
    async (stage) => {
      await stage.create(JOBS, job({ completionMode: "Indexed", completions: 3, parallelism: 3 }));
      const [first, ...others] = await stage.pods();
      await stage.setStatus(others, { phase: "Succeeded" });
      await stage.pass(1);
      const seen = [(await statusOf(stage)).completedIndexes];
      await stage.setStatus([first as PodObject], { phase: "Failed" });
      await stage.pass(1);
      seen.push(indexesOf(await active(stage)));
      await end(stage, "Succeeded");
      return [...seen, (await statusOf(stage)).completedIndexes, await summary(stage)];
    },
    ["1,2", "0", "0-2", "0/3/1 Complete"],
  ],
  [
    "of two pods with one index, one is deleted",
    async (stage) => {
      await stage.create(JOBS, job({ completionMode: "Indexed", completions: 2, parallelism: 2 }));
      const [, second] = await stage.pods();
      const annotations = { [INDEX]: "0" };
      const change = (pod: KubeObject) => ({ ...pod, metadata: { ...pod.metadata, annotations } });
      await stage.change("pods", second?.metadata.name ?? "", change);
      await stage.pass(3);
      return indexesOf(await active(stage));
    },
    "0,1",
  ],
  [
    "a pod that somebody deletes counts as failed",
    async (stage) => {
      await stage.create(JOBS, job());
      await stage.start();
      await stage.delete("pods", (await stage.pods())[0]?.metadata.name ?? "");
      await stage.pass(1);
      await stage.endTerminating();
      await stage.pass(1);
      return [await summary(stage), (await stage.pods()).length];
    },
    ["1/0/1", 1],
  ],
  [
    "adopts a pod that its selector matches, with the finalizer",
    async (stage) => {
      const labels = { app: "own" };
      const spec = { manualSelector: true, selector: { matchLabels: labels }, completions: 1 };
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "orphan", labels }, spec: template().spec };
      await stage.create("pods", pod);
      await stage.create(JOBS, job({ ...spec, template: { ...template(), metadata: { labels } } }));
      const [only] = await stage.pods();
      return [await summary(stage), only?.metadata.ownerReferences?.[0]?.name, only && hasTrackingFinalizer(only)];
    },
    ["1/0/0", "pi", true],
  ],
  [
    "a deleted job's pods lose their finalizer, so that they can go",
    async (stage) => {
      await stage.create(JOBS, job({ parallelism: 2, completions: 2 }));
      await stage.delete(JOBS, "pi", "Background");
      await stage.pass(2);
      return [(await stage.pods()).length, stage.errors()];
    },
    [0, []],
  ],
  [
    "an orphaned pod loses its finalizer and stays",
    async (stage) => {
      await stage.create(JOBS, job());
      await stage.delete(JOBS, "pi", "Orphan");
      await stage.pass(2);
      return (await stage.pods()).map((pod) => [pod.metadata.ownerReferences, hasTrackingFinalizer(pod)]);
    },
    [[undefined, false]],
  ],
  [
    "pods that cannot be created are tried again",
    async (stage) => {
      let isRefused = true;
      stage.refuse.why = ({ resource, operation }) =>
        isRefused && resource === "pods" && operation === "CREATE"
          ? statusError(403, "Forbidden", "quota", {})
          : undefined;
      await stage.create(JOBS, job({ parallelism: 4, completions: 4 }));
      const before = [await summary(stage), stage.events()[0]];
      isRefused = false;
      await stage.pass(10);
      return [...before, await summary(stage)];
    },
    ["0/0/0", "Warning FailedCreate Error creating: quota", "4/0/0"],
  ],
  [
    "a finalizer that cannot be removed leaves the pod waiting in the status",
    async (stage) => {
      await stage.create(JOBS, job());
      stage.refuse.why = ({ resource, operation, user }) =>
        resource === "pods" && operation === "UPDATE" && user.username.endsWith(":job-controller")
          ? statusError(500, "InternalError", "no", {})
          : undefined;
      const [pod] = await stage.pods();
      await end(stage, "Succeeded");
      const { uncountedTerminatedPods, succeeded } = await statusOf(stage);
      stage.refuse.why = undefined;
      await stage.pass(20);
      return [uncountedTerminatedPods?.succeeded?.[0] === pod?.metadata.uid, succeeded, await summary(stage)];
    },
    [true, undefined, "0/1/0 Complete"],
  ],
  [
    "a pod of a finished job that shows up late is not counted",
    async (stage) => {
      await stage.create(JOBS, job());
      await end(stage, "Succeeded");
      const writes = await stage.revision();
      await stage.pass(600);
      return [(await stage.revision()) - writes, await summary(stage)];
    },
    [0, "0/1/0 Complete"],
  ],
  [
    "FailJob: an exit code fails the job at once",
    async (stage) => {
      await stage.create(JOBS, job({ parallelism: 2, completions: 2, ...failurePolicy(FAIL_ON_42) }));
      const [pod] = await stage.pods();
      await end(stage, "Failed", 1, exitCode(42));
      await stage.pass(2);
      const { conditions = [] } = await statusOf(stage);
      const text = `Container c for pod default/${pod?.metadata.name} failed with exit code 42 matching FailJob rule at index 0`;
      return [await summary(stage), conditions.map(({ message }) => message === text)];
    },
    ["0/0/2 FailureTarget PodFailurePolicy Failed PodFailurePolicy", [true, true]],
    { kubeVersion: "1.26" },
  ],
  [
    "Ignore: a disrupted pod is replaced and does not count",
    async (stage) => {
      await stage.create(JOBS, job({ backoffLimit: 0, ...failurePolicy(IGNORE_DISRUPTIONS) }));
      await end(stage, "Failed", 1, { conditions: [{ type: "DisruptionTarget", status: "True" }] });
      return summary(stage);
    },
    "1/0/0",
    { kubeVersion: "1.26" },
  ],
  [
    "the TTL deletes a finished job and its pods",
    async (stage) => {
      await stage.create(JOBS, job({ ttlSecondsAfterFinished: 60 }));
      await end(stage, "Succeeded");
      await stage.pass(59);
      const before = (await stage.admin.list(JOBS)).length;
      await stage.pass(2);
      return [
        before,
        (await stage.admin.list(JOBS)).length,
        (await stage.pods()).length,
        stage.decisions().find((one) => one.startsWith("delete Job")),
      ];
    },
    [
      1,
      0,
      0,
      "delete Job default/pi and its pods: it was Complete at 2026-01-01T00:00:01Z, ttlSecondsAfterFinished 60: until 2026-01-01T00:01:01Z, which has passed",
    ],
  ],
  [
    "a TTL that grows in time keeps it, TTL 0 deletes it at once",
    async (stage) => {
      await stage.create(JOBS, job({ ttlSecondsAfterFinished: 60 }));
      await end(stage, "Succeeded");
      await stage.changeSpec(JOBS, "pi", { ttlSecondsAfterFinished: 600 });
      await stage.pass(120);
      const kept = (await stage.admin.list(JOBS)).length;
      await stage.changeSpec(JOBS, "pi", { ttlSecondsAfterFinished: 0 });
      await stage.pass(1);
      return [kept, (await stage.admin.list(JOBS)).length];
    },
    [1, 0],
  ],
  [
    "a new job with the name of a deleted one starts from zero",
    async (stage) => {
      await stage.create(JOBS, job());
      await end(stage, "Succeeded");
      await stage.delete(JOBS, "pi", "Background");
      await stage.pass(2);
      await stage.create(JOBS, job());
      return [await summary(stage), (await stage.pods()).length];
    },
    ["1/0/0", 1],
  ],
];

describe("job controller", () => {
  for (const [title, story, want, options] of table) {
    test(title, async () => {
      await using stage = await WorkloadStage.open(options);
      expect(await story(stage)).toEqual(want);
    });
  }
});
