import { describe, expect, test } from "vitest";
import { JOBS } from "../../../../../src/cluster/apiserver/registry/batch/jobs.js";
import { RESOURCES } from "../../../../../src/cluster/apiserver/registry/table.js";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { decodeRequestBody } from "../../../../../src/staging/apimachinery/scheme/request.js";
import { fields } from "../../../../support/fields.js";
import { contextOf, openTableLab, refusalIfAny, type TableLab } from "../table-lab.js";

type Fields = Readonly<Record<string, unknown>>;

const TEMPLATE = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "busybox" }] } };

function job(spec: Fields = {}, metadata: Fields = {}): KubeObject {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "j", ...metadata },
    spec: { template: TEMPLATE, ...spec },
  } as KubeObject;
}

function cronJob(spec: Fields = {}, name = "c"): KubeObject {
  const jobTemplate = { spec: { template: TEMPLATE } };
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name },
    spec: { schedule: "*/5 * * * *", jobTemplate, ...spec },
  } as KubeObject;
}

/** What follows `... is invalid: `. */
async function errorOf(write: Promise<unknown>): Promise<string> {
  const { message = "" } = (await refusalIfAny(write)) ?? {};
  return message.slice(message.indexOf("is invalid: ") + "is invalid: ".length);
}

const NOT_NEGATIVE = "must be greater than or equal to 0";
const restartPolicy = (value: string) => ({ spec: { ...TEMPLATE.spec, restartPolicy: value } });

const JOB_ERRORS: readonly [what: string, body: KubeObject, error: string][] = [
  ["negative parallelism", job({ parallelism: -1 }), `spec.parallelism: Invalid value: -1: ${NOT_NEGATIVE}`],
  ["negative completions", job({ completions: -1 }), `spec.completions: Invalid value: -1: ${NOT_NEGATIVE}`],
  [
    "negative deadline",
    job({ activeDeadlineSeconds: -1 }),
    `spec.activeDeadlineSeconds: Invalid value: -1: ${NOT_NEGATIVE}`,
  ],
  ["negative back-off limit", job({ backoffLimit: -1 }), `spec.backoffLimit: Invalid value: -1: ${NOT_NEGATIVE}`],
  [
    "negative TTL",
    job({ ttlSecondsAfterFinished: -1 }),
    `spec.ttlSecondsAfterFinished: Invalid value: -1: ${NOT_NEGATIVE}`,
  ],
  [
    "restartPolicy Always",
    job({ template: restartPolicy("Always") }),
    'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
  ],
  [
    "an unknown completion mode",
    job({ completionMode: "Sorted" }),
    'spec.completionMode: Unsupported value: "Sorted": supported values: "NonIndexed", "Indexed"',
  ],
  [
    "Indexed without completions",
    job({ completionMode: "Indexed", parallelism: 2 }),
    "spec.completions: Required value: when completion mode is Indexed",
  ],
  [
    "Indexed with too many pods",
    job({ completionMode: "Indexed", completions: 1, parallelism: 100_001 }),
    "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed",
  ],
  [
    "an index that makes the host name too long",
    job({ completionMode: "Indexed", completions: 11 }, { name: "a".repeat(61) }),
    `metadata.name: Invalid value: "${"a".repeat(61)}": will not able to create pod with invalid DNS label: ${"a".repeat(61)}-10`,
  ],
  [
    "a container without an image",
    job({ template: { spec: { restartPolicy: "Never", containers: [{ name: "c" }] } } }),
    "spec.template.spec.containers[0].image: Required value",
  ],
  [
    "a manual selector that is missing",
    job({ manualSelector: true }),
    "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`]",
  ],
  [
    "a manual selector of other pods",
    job({ manualSelector: true, selector: { matchLabels: { a: "b" } } }),
    "spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`",
  ],
  [
    "a bad operator",
    job({
      manualSelector: true,
      selector: { matchExpressions: [{ key: "a", operator: "Is" }] },
      template: { ...TEMPLATE, metadata: { labels: { b: "c" } } },
    }),
    'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
  ],
];

describe("jobs", () => {
  test.each(JOB_ERRORS)("%s is refused", async (_what, body, error) => {
    const lab = await openTableLab();
    expect(await errorOf(lab.create("jobs", body))).toBe(error);
  });

  test("a new job gets defaults, a selector, labels and the tracking annotation", async () => {
    const lab = await openTableLab();
    const { metadata, spec, status } = await lab.create("jobs", job());
    const labels = { "controller-uid": metadata.uid, "job-name": "j" };
    expect(fields(spec)).toMatchObject({
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      completionMode: "NonIndexed",
      suspend: false,
      selector: { matchLabels: { "controller-uid": metadata.uid } },
      template: { metadata: { labels } },
    });
    expect(metadata).toMatchObject({
      generation: 1,
      labels,
      annotations: { "batch.kubernetes.io/job-tracking": "" },
    });
    expect(status).toEqual({});
  });

  test("with parallelism alone, one success is enough", async () => {
    const lab = await openTableLab();
    const { spec } = await lab.create("jobs", job({ parallelism: 3 }));
    expect(fields(spec).completions).toBeUndefined();
  });

  test("labels of the template stay, and become those of the job", async () => {
    const lab = await openTableLab();
    const template = { ...TEMPLATE, metadata: { labels: { app: "x" } } };
    const { metadata, spec } = await lab.create("jobs", job({ template }));
    expect(metadata.labels).toEqual({ app: "x" });
    expect(fields(fields(fields(spec).template).metadata).labels).toMatchObject({ app: "x", "job-name": "j" });
  });

  test.each<[string, (spec: Fields) => Fields, string]>([
    ["completions", (spec) => ({ ...spec, completions: 2 }), "spec.completions: Invalid value: 2: field is immutable"],
    [
      "the completion mode",
      (spec) => ({ ...spec, completionMode: "Indexed" }),
      'spec.completionMode: Invalid value: "Indexed": field is immutable',
    ],
    [
      "the template",
      (spec) => ({ ...spec, template: { ...fields(spec.template), spec: { ...TEMPLATE.spec, hostNetwork: true } } }),
      "spec.template: Invalid value: core.PodTemplateSpec: field is immutable",
    ],
  ])("%s cannot change", async (_what, change, error) => {
    const lab = await openTableLab();
    const made = await lab.create("jobs", job());
    expect(await errorOf(lab.put("jobs", "j", { ...made, spec: change(fields(made.spec)) }))).toBe(error);
  });

  test.each<[string, Fields, Fields | undefined, string]>([
    ["a suspended job that never ran can get another node selector", { suspend: true }, undefined, ""],
    ["one that ran cannot", { suspend: true }, { startTime: "2026-01-01T00:00:00Z" }, "spec.template: Invalid"],
    ["one that is not suspended cannot", {}, undefined, "spec.template: Invalid"],
  ])("%s", async (_what, spec, status, error) => {
    const lab = await openTableLab();
    let made = await lab.create("jobs", job(spec));
    if (status !== undefined) made = await lab.put("jobs", "j", { ...made, status }, { subresource: "status" });
    const template = fields(fields(made.spec).template);
    const changed = { ...template, spec: { ...fields(template.spec), nodeSelector: { disk: "ssd" } } };
    const message = await errorOf(lab.put("jobs", "j", { ...made, spec: { ...fields(made.spec), template: changed } }));
    expect(message.slice(0, error.length || undefined)).toBe(error);
  });

  test("parallelism can change, and counts as a new generation", async () => {
    const lab = await openTableLab();
    const made = await lab.create("jobs", job());
    const changed = await lab.put("jobs", "j", { ...made, spec: { ...fields(made.spec), parallelism: 5 } });
    expect(changed.metadata.generation).toBe(2);
  });

  test("a status with the same pod twice is refused", async () => {
    const lab = await openTableLab();
    const made = await lab.create("jobs", job());
    const status = { active: -1, uncountedTerminatedPods: { succeeded: ["u"], failed: ["u", ""] } };
    expect(await errorOf(lab.put("jobs", "j", { ...made, status }, { subresource: "status" }))).toBe(
      `[status.active: Invalid value: -1: ${NOT_NEGATIVE}, status.uncountedTerminatedPods.failed[0]: Duplicate value: "u", status.uncountedTerminatedPods.failed[1]: Invalid value: "": must not be empty]`,
    );
  });

  test("a deletion without a policy keeps the pods, and warns", async () => {
    const lab = await openTableLab();
    await lab.create("jobs", job());
    const context = contextOf();
    const { object, gone } = await lab.registry.store("jobs.batch").delete(context, "default", "j");
    expect([gone, object.metadata.finalizers]).toEqual([false, ["orphan"]]);
    expect(context.warnings.join()).toMatch(/^child pods are preserved by default when jobs are deleted; set prop/);
  });

  test("kubectl's policy removes it at once", async () => {
    const lab = await openTableLab();
    await lab.create("jobs", job());
    const context = contextOf();
    const options = { propagationPolicy: "Background" };
    const { gone } = await lab.registry.store("jobs.batch").delete(context, "default", "j", options);
    expect([gone, context.warnings]).toEqual([true, []]);
  });

  test.each([
    [{ completions: 3 }, { succeeded: 1 }, ["1/3", ""]],
    [{ parallelism: 4 }, {}, ["0/1 of 4", ""]],
    [{ parallelism: 1 }, {}, ["0/1", ""]],
    [{ completions: 1 }, { startTime: "2026-01-01T00:00:00Z" }, ["0/1", "10s"]],
    [{ completions: 1 }, { startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T00:00:05Z" }, ["0/1", "5s"]],
  ])("kubectl get of spec %j and status %j", (spec, status, cells) => {
    const shown = JOBS.table?.cells({ ...job(spec), status }, Date.parse("2026-01-01T00:00:10Z"));
    expect(shown?.slice(1, 3)).toEqual(cells);
  });
});

const POLICY = "spec.podFailurePolicy.";
const RULES = { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] };
const exitCodes = (onExitCodes: Fields) => ({ rules: [{ action: "FailJob", onExitCodes }] });

describe("pod failure policies", () => {
  const strategy = JOBS.strategy;
  const context = { ...contextOf(), nowMs: 0, kubeVersion: "1.26", warn: () => {}, report: () => {} };
  const errorsOf = (podFailurePolicy: Fields, template: Fields = TEMPLATE): string[] => {
    const body = JSON.stringify(job({ podFailurePolicy, template }, { uid: "u" }));
    const sent = decodeRequestBody(body, JOBS).object;
    const made = strategy.prepareForCreate?.(sent, context) ?? sent;
    return (strategy.validate?.(made, context) ?? []).map(
      ({ field, text }) => `${field.slice(POLICY.length)}: ${text}`,
    );
  };

  test("1.25 drops them", async () => {
    const lab = await openTableLab();
    const { spec } = await lab.create("jobs", job({ podFailurePolicy: { rules: [RULES] } }));
    expect(spec).not.toHaveProperty("podFailurePolicy");
  });

  test.each<[Fields, string[]]>([
    [{ rules: [RULES] }, []],
    [exitCodes({ operator: "In", values: [1, 2] }), []],
    [
      { rules: [{ action: "Ignore" }] },
      ["rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"],
    ],
    [
      { rules: [{ ...RULES, action: "Retry" }] },
      ['rules[0].action: Unsupported value: "Retry": supported values: "Count", "FailJob", "Ignore"'],
    ],
    [
      { rules: [{ ...RULES, action: "" }] },
      ['rules[0].action: Required value: valid values: ["Count" "FailJob" "Ignore"]'],
    ],
    [
      exitCodes({ operator: "In", values: [0] }),
      ["rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator"],
    ],
    [
      exitCodes({ operator: "NotIn", values: [] }),
      ["rules[0].onExitCodes.values: Invalid value: []int32(nil): at least one value is required"],
    ],
    [
      exitCodes({ operator: "NotIn", values: [2, 1, 2] }),
      [
        "rules[0].onExitCodes.values[2]: Duplicate value: 2",
        "rules[0].onExitCodes.values: Invalid value: []int32{2, 1, 2}: must be ordered",
      ],
    ],
    [
      exitCodes({ operator: "In", values: [1], containerName: "other" }),
      [
        'rules[0].onExitCodes.containerName: Invalid value: "other": must be one of the container or initContainer names in the pod template',
      ],
    ],
    [{ rules: Array.from({ length: 21 }, () => RULES) }, ["rules: Too many: 21: must have at most 20 items"]],
  ])("%j", (policy, errors) => {
    expect(errorsOf(policy)).toEqual(errors);
  });

  test("only with restartPolicy Never", () => {
    expect(errorsOf({ rules: [RULES] }, restartPolicy("OnFailure")).join()).toMatch(
      /only "Never" is supported when podFailurePolicy is specified/,
    );
  });
});

const CRON_ERRORS: readonly [what: string, body: KubeObject, error: string][] = [
  ["no schedule", cronJob({ schedule: "" }), "spec.schedule: Required value"],
  [
    "a schedule of three fields",
    cronJob({ schedule: "* * *" }),
    'spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]',
  ],
  [
    "two time zones",
    cronJob({ schedule: "TZ=UTC 0 0 * * *", timeZone: "Europe/Berlin" }),
    'spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule',
  ],
  [
    "an unknown zone",
    cronJob({ timeZone: "Mars/North" }),
    'spec.timeZone: Invalid value: "Mars/North": unknown time zone Mars/North',
  ],
  [
    "the machine's zone",
    cronJob({ timeZone: "Local" }),
    'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
  ],
  [
    "an empty zone",
    cronJob({ timeZone: "" }),
    'spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string',
  ],
  [
    "a wrong policy",
    cronJob({ concurrencyPolicy: "Queue" }),
    'spec.concurrencyPolicy: Unsupported value: "Queue": supported values: "Allow", "Forbid", "Replace"',
  ],
  [
    "a negative deadline",
    cronJob({ startingDeadlineSeconds: -1 }),
    `spec.startingDeadlineSeconds: Invalid value: -1: ${NOT_NEGATIVE}`,
  ],
  [
    "a negative history",
    cronJob({ failedJobsHistoryLimit: -1 }),
    `spec.failedJobsHistoryLimit: Invalid value: -1: ${NOT_NEGATIVE}`,
  ],
  [
    "a name that is too long for jobs",
    cronJob({}, "a".repeat(53)),
    `metadata.name: Invalid value: "${"a".repeat(53)}": must be no more than 52 characters`,
  ],
  [
    "a selector in the template",
    cronJob({ jobTemplate: { spec: { template: TEMPLATE, selector: { matchLabels: { a: "b" } } } } }),
    'spec.jobTemplate.spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"a":"b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: `selector` will be auto-generated',
  ],
  [
    "a template with a bad pod",
    cronJob({ jobTemplate: { spec: { template: { spec: { restartPolicy: "Never", containers: [] } } } } }),
    "spec.jobTemplate.spec.template.spec.containers: Required value",
  ],
];

describe("cron jobs", () => {
  test.each(CRON_ERRORS)("%s is refused", async (_what, body, error) => {
    const lab = await openTableLab();
    expect(await errorOf(lab.create("cronjobs", body))).toBe(error);
  });

  test("defaults, but none for the jobs of the template", async () => {
    const lab = await openTableLab();
    const { spec } = await lab.create("cronjobs", cronJob({ timeZone: "Europe/Berlin" }));
    expect(spec).toMatchObject({
      concurrencyPolicy: "Allow",
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    });
    expect(fields(fields(fields(spec).jobTemplate).spec).backoffLimit).toBeUndefined();
  });

  test("kubectl get", () => {
    const table = RESOURCES.find(({ kind }) => kind === "CronJob")?.table;
    const status = { active: [{}], lastScheduleTime: "2026-01-01T00:00:00Z" };
    const body = { ...cronJob({ suspend: true }), status };
    expect(table?.cells(body, Date.parse("2026-01-01T00:00:10Z")).slice(0, 5)).toEqual([
      "c",
      "*/5 * * * *",
      "True",
      1,
      "10s",
    ]);
    expect(table?.cells(cronJob(), 0).slice(2, 5)).toEqual(["<unset>", 0, "<none>"]);
  });

  test("a zone in the schedule is accepted with a warning", async () => {
    const lab: TableLab = await openTableLab();
    const context = contextOf();
    const body = decodeRequestBody(
      JSON.stringify(cronJob({ schedule: "CRON_TZ=Asia/Tokyo 0 0 * * *" })),
      lab.definition("cronjobs"),
    );
    await lab.registry.store("cronjobs.batch").create(context, "default", body.object);
    expect(context.warnings.join()).toMatch(/^CRON_TZ or TZ used in "spec.schedule" is not officially supported/);
  });
});
