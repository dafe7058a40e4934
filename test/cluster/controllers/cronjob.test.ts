import { describe, expect, test } from "vitest";
import {
  type CronJobObject,
  jobFromTemplate,
  msToNextSchedule,
  nextScheduleTime,
} from "../../../src/cluster/controllers/cronjob/utils.js";
import { isJobFinished, type JobObject } from "../../../src/cluster/controllers/job/utils.js";
import { statusError } from "../../../src/staging/apimachinery/errors.js";
import { parseStandard } from "../../../src/staging/cron/parse.js";
import { openSchedule } from "../../../src/staging/cron/schedule.js";
import { type StageOptions, WorkloadStage } from "./support/workload-stage.js";

const CRON_JOBS = "cronjobs.batch";
const JOBS = "jobs.batch";
const START_MS = Date.parse("2026-01-01T00:00:00Z");

function cronJob(spec: object = {}, jobSpec: object = {}): object {
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "busybox" }] } };
  const jobTemplate = { metadata: { labels: { app: "tick" } }, spec: { backoffLimit: 0, template, ...jobSpec } };
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "tick" },
    spec: { schedule: "*/10 * * * *", jobTemplate, ...spec },
  };
}

async function jobs(stage: WorkloadStage): Promise<readonly JobObject[]> {
  return stage.admin.list<JobObject>(JOBS, "default");
}

/** Times of the jobs: `00:10 00:20`, with an asterisk for those that run. */
async function times(stage: WorkloadStage): Promise<string> {
  return (await jobs(stage))
    .map((job) => {
      const minutes = Number(job.metadata.name?.replace("tick-", "")) - START_MS / 60_000;
      const clock = new Date(minutes * 60_000).toISOString().slice(11, 16);
      return isJobFinished(job) ? clock : `${clock}*`;
    })
    .join(" ");
}

/** Ends all pods that have not ended. */
async function end(stage: WorkloadStage, phase = "Succeeded"): Promise<void> {
  const running = (await stage.pods()).filter(({ status }) => status?.phase === "Pending");
  await stage.setStatus(running, { phase });
  await stage.pass(2);
}

async function statusOf(stage: WorkloadStage) {
  const { active = [], ...rest } = (await stage.get<CronJobObject>(CRON_JOBS, "tick")).status ?? {};
  return { active: active.length, ...rest };
}

function events(stage: WorkloadStage): string[] {
  return stage.events().filter((event) => !/pod|Job completed|backoff limit/.test(event));
}

const MINUTES = 60;

type Row = readonly [
  title: string,
  story: (stage: WorkloadStage) => Promise<unknown>,
  want: unknown,
  options?: StageOptions,
];

const table: readonly Row[] = [
  [
    "creates a job at the scheduled time, and none before",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob());
      await stage.pass(10 * MINUTES);
      const before = await times(stage);
      await stage.pass(1);
      return [before, await times(stage), await statusOf(stage)];
    },
    ["", "00:10*", { active: 1, lastScheduleTime: "2026-01-01T00:10:00Z" }],
  ],
  [
    "the job has the template's labels and defaults, a name by the minute, and an owner",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({}, { backoffLimit: undefined }));
      await stage.pass(10 * MINUTES + 1);
      const [job] = await jobs(stage);
      const { completions, parallelism, backoffLimit } = job?.spec ?? {};
      const [owner] = job?.metadata.ownerReferences ?? [];
      const { labels } = job?.metadata ?? {};
      return [job?.metadata.name, labels, completions, parallelism, backoffLimit, owner?.kind, owner?.controller];
    },
    ["tick-29453770", { app: "tick" }, 1, 1, 6, "CronJob", true],
  ],
  [
    "its decision names the time, the schedule and the policy",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob());
      await stage.pass(10 * MINUTES + 1);
      return [stage.decisions()[0], events(stage)];
    },
    [
      "create Job default/tick-29453770: 2026-01-01T00:10:00Z is due by schedule */10 * * * *, 1 since the last; 0 active, concurrencyPolicy Allow",
      ["Normal SuccessfulCreate Created job tick-29453770"],
    ],
  ],
  [
    "a completed job leaves the active list, and its end is remembered",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob());
      await stage.pass(10 * MINUTES + 1);
      await end(stage);
      return [await statusOf(stage), events(stage).at(-1)];
    },
    [
      { active: 0, lastScheduleTime: "2026-01-01T00:10:00Z", lastSuccessfulTime: "2026-01-01T00:10:01Z" },
      "Normal SawCompletedJob Saw completed job: tick-29453770, status: Complete",
    ],
  ],
  [
    "a failed job is seen, too, but is no success",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob());
      await stage.pass(10 * MINUTES + 1);
      await end(stage, "Failed");
      const { active, lastSuccessfulTime } = await statusOf(stage);
      return [active, lastSuccessfulTime, events(stage).at(-1)];
    },
    [0, undefined, "Normal SawCompletedJob Saw completed job: tick-29453770, status: Failed"],
  ],
  [
    "Allow: jobs run at the same time",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob());
      await stage.pass(20 * MINUTES + 1);
      return [await times(stage), (await statusOf(stage)).active];
    },
    ["00:10* 00:20*", 2],
  ],
  [
    "Forbid: no job while one runs, and the next time again",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ concurrencyPolicy: "Forbid" }));
      await stage.pass(20 * MINUTES + 1);
      const seen = [await times(stage), events(stage).at(-1)];
      await end(stage);
      return [...seen, await times(stage)];
    },
    [
      "00:10*",
      "Normal JobAlreadyActive Not starting job because prior execution is running and concurrency policy is Forbid",
      // The time that was left out is still due: a deadline would change that.
      "00:10 00:20*",
    ],
  ],
  [
    "Forbid with a deadline: a time that was left out is not made up for",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ concurrencyPolicy: "Forbid", startingDeadlineSeconds: 60 }));
      await stage.pass(25 * MINUTES);
      await end(stage);
      const seen = [await times(stage)];
      await stage.pass(5 * MINUTES);
      return [...seen, await times(stage)];
    },
    ["00:10", "00:10 00:30*"],
  ],
  [
    "Replace: the job that runs is deleted first",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ concurrencyPolicy: "Replace" }));
      await stage.pass(20 * MINUTES + 1);
      return [
        await times(stage),
        (await statusOf(stage)).active,
        stage.decisions().find((one) => one.startsWith("delete Job")),
      ];
    },
    [
      "00:20*",
      1,
      "delete Job default/tick-29453770: it still runs at the next scheduled time, concurrencyPolicy Replace",
    ],
  ],
  [
    "Replace: a job that cannot be deleted is tried again",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ concurrencyPolicy: "Replace" }));
      await stage.pass(15 * MINUTES);
      stage.refuse.why = ({ resource, operation }) =>
        resource === "jobs" && operation === "DELETE" ? statusError(403, "Forbidden", "not now", {}) : undefined;
      await stage.pass(6 * MINUTES);
      const seen = [await times(stage), events(stage).at(-1)];
      stage.refuse.why = undefined;
      await stage.pass(5 * MINUTES);
      return [...seen, await times(stage)];
    },
    ["00:10*", "Warning FailedDelete Deleted job: not now", "00:20*"],
  ],
  [
    "suspend: no jobs; resumed, the last time that was missed is made up for",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ suspend: true }));
      await stage.pass(35 * MINUTES);
      const before = await times(stage);
      await stage.changeSpec(CRON_JOBS, "tick", { suspend: false });
      return [before, await times(stage)];
    },
    ["", "00:30*"],
  ],
  [
    "a job that is too late is left out, with an event",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ suspend: true, startingDeadlineSeconds: 100 }));
      await stage.pass(12 * MINUTES);
      await stage.changeSpec(CRON_JOBS, "tick", { suspend: false });
      const seen = [await times(stage)];
      await stage.pass(8 * MINUTES + 1);
      return [...seen, await times(stage)];
    },
    ["", "00:20*"],
  ],
  [
    "more than 100 missed times: a warning, and the last one is made up for",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ schedule: "* * * * *", suspend: true }));
      await stage.pass(150 * MINUTES);
      await stage.changeSpec(CRON_JOBS, "tick", { suspend: false });
      return [await times(stage), events(stage)[0]];
    },
    [
      "02:30*",
      "Warning TooManyMissedTimes too many missed start times: 150. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
    ],
  ],
  [
    "history: three successful jobs and one failed are kept, the oldest go with their pods",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob());
      for (const phase of ["Succeeded", "Failed", "Succeeded", "Failed", "Succeeded", "Succeeded"]) {
        await stage.pass(9 * MINUTES + 59);
        await end(stage, phase);
        await end(stage, phase);
      }
      await stage.pass(10);
      return [await times(stage), (await stage.pods()).length];
    },
    ["00:30 00:40 00:50 01:00", 4],
  ],
  [
    "history limit 0 keeps no finished job",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0 }));
      await stage.pass(10 * MINUTES + 1);
      await end(stage);
      await stage.pass(5);
      return [(await jobs(stage)).length, stage.decisions().find((one) => one.startsWith("delete Job"))];
    },
    [0, "delete Job default/tick-29453770: 1 jobs are Complete, successfulJobsHistoryLimit 0"],
  ],
  [
    "a time zone moves the times",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ schedule: "0 6 * * *", timeZone: "Asia/Kolkata" }));
      await stage.pass(30 * MINUTES + 1);
      return times(stage);
    },
    "00:30*",
  ],
  [
    "another schedule changes when it is due",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ schedule: "0 12 * * *" }));
      await stage.pass(60);
      await stage.changeSpec(CRON_JOBS, "tick", { schedule: "*/5 * * * *" });
      await stage.pass(4 * MINUTES + 1);
      return times(stage);
    },
    "00:05*",
  ],
  [
    "@every counts from the creation",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ schedule: "@every 7m" }));
      await stage.pass(14 * MINUTES + 1);
      return times(stage);
    },
    "00:07* 00:14*",
  ],
  [
    "a schedule that never comes is reported",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob({ schedule: "0 0 31 2 *" }));
      await stage.pass(MINUTES);
      return [await times(stage), events(stage)[0]];
    },
    [
      "",
      "Warning InvalidSchedule invalid schedule: 0 0 31 2 * : time difference between two schedules less than 1 second",
    ],
  ],
  [
    "an active job that somebody deleted goes missing",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob());
      await stage.pass(10 * MINUTES + 1);
      await stage.delete(JOBS, "tick-29453770", "Background");
      await stage.pass(2);
      return [(await statusOf(stage)).active, events(stage).at(-1)];
    },
    [0, "Normal MissingJob Active job went missing: tick-29453770"],
  ],
  [
    "a job that a user made from it is unexpected, and is not counted",
    async (stage) => {
      const { metadata } = await stage.create(CRON_JOBS, cronJob());
      const owner = { apiVersion: "batch/v1", kind: "CronJob", name: "tick", uid: metadata.uid, controller: true };
      const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "busybox" }] } };
      const manual = { name: "by-hand", ownerReferences: [owner] };
      await stage.create(JOBS, { apiVersion: "batch/v1", kind: "Job", metadata: manual, spec: { template } });
      return [(await statusOf(stage)).active, events(stage)[0]];
    },
    [0, "Warning UnexpectedJob Saw a job that the controller did not create or forgot: by-hand"],
  ],
  [
    "a job of that name that is not its own stays",
    async (stage) => {
      const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "busybox" }] } };
      await stage.create(JOBS, {
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name: "tick-29453770" },
        spec: { template },
      });
      await stage.create(CRON_JOBS, cronJob());
      await stage.pass(10 * MINUTES + 1);
      return [(await jobs(stage)).length, await statusOf(stage)];
    },
    [1, { active: 0 }],
  ],
  [
    "a job that cannot be created is tried again",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob());
      stage.refuse.why = ({ resource, operation }) =>
        resource === "jobs" && operation === "CREATE" ? statusError(403, "Forbidden", "quota", {}) : undefined;
      await stage.pass(10 * MINUTES + 2);
      const seen = [await times(stage), events(stage)[0]];
      stage.refuse.why = undefined;
      await stage.pass(MINUTES);
      return [...seen, await times(stage)];
    },
    ["", "Warning FailedCreate Error creating job: quota", "00:10*"],
  ],
  [
    "its jobs are deleted with it",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob());
      await stage.pass(10 * MINUTES + 1);
      await stage.delete(CRON_JOBS, "tick", "Background");
      await stage.pass(2);
      return [(await jobs(stage)).length, (await stage.pods()).length];
    },
    [0, 0],
  ],
  [
    "nothing is written between two times",
    async (stage) => {
      await stage.create(CRON_JOBS, cronJob());
      await stage.pass(10 * MINUTES + 1);
      await end(stage);
      await stage.pass(10);
      const before = await stage.revision();
      await stage.pass(9 * MINUTES);
      return (await stage.revision()) - before;
    },
    0,
  ],
];

describe("CronJob controller", () => {
  for (const [title, story, want, options] of table) {
    test(title, async () => {
      await using stage = await WorkloadStage.open(options);
      expect(await story(stage)).toEqual(want);
    });
  }
});

function at(lastScheduleTime: string | undefined, spec: object = {}): CronJobObject {
  const metadata = { name: "c", creationTimestamp: "2026-01-01T00:00:00Z" };
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata,
    spec,
    status: { lastScheduleTime },
  } as unknown as CronJobObject;
}

const parsed = parseStandard("0 * * * *");
const hourly = openSchedule(parsed.outcome === "ok" ? parsed.schedule : { type: "every", delayMs: 0 });

test.each<[last: string | undefined, now: string, spec: object, due: string | undefined, missed: number]>([
  [undefined, "2026-01-01T00:59:59Z", {}, undefined, 0],
  [undefined, "2026-01-01T01:00:00Z", {}, "01:00", 1],
  [undefined, "2026-01-01T03:30:00Z", {}, "03:00", 3],
  ["2026-01-01T02:00:00Z", "2026-01-01T02:59:00Z", {}, undefined, 0],
  ["2026-01-01T02:00:00Z", "2026-01-01T03:00:01Z", {}, "03:00", 1],
  ["2026-01-01T02:00:00Z", "2026-01-01T05:10:00Z", { startingDeadlineSeconds: 3600 }, "05:00", 1],
  ["2026-01-01T02:00:00Z", "2026-01-01T05:10:00Z", { startingDeadlineSeconds: 60 }, undefined, 0],
  ["2026-01-01T09:00:00Z", "2026-01-01T05:10:00Z", {}, undefined, 0],
])("due after %s at %s with %j: %s, %i in all", (last, now, spec, due, missed) => {
  const recent = nextScheduleTime(at(last, spec), Date.parse(now), hourly);
  const time = recent?.timeMs === undefined ? undefined : new Date(recent.timeMs).toISOString().slice(11, 16);
  expect([time, recent?.missed]).toEqual([due, missed]);
});

test("the wait is for the next time, and a bit", () => {
  expect(msToNextSchedule(at(undefined), Date.parse("2026-01-01T03:30:00Z"), hourly)).toBe(30 * 60_000 + 100);
});

test("the job of a template without metadata", () => {
  const { metadata, spec } = jobFromTemplate(at(undefined, { jobTemplate: { spec: {} } }), START_MS);
  expect([metadata.labels, metadata.name, spec?.completions]).toEqual([undefined, "c-29453760", 1]);
});
