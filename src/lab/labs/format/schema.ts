import { z } from "zod";
import type { MessageKey } from "../../../util/i18n/catalogue.js";
import { catalogueText } from "./catalogue-text.js";
import { isFieldPath } from "./field.js";
import { issueWords } from "./issue-words.js";

/**
 * The schema of a lab's definition file (`lab.yaml`). The compiler and `kubelab learn check-labs` validate files with
 * it. The rest of the program imports only the types, so that learn mode does not load zod.
 */

const id = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/, catalogueText("schemaId"));
/** Text in which `{{name}}` is replaced by a variable's value. */
const text = z.string().min(1, catalogueText("schemaText"));
const pattern = text.refine(isPattern, catalogueText("schemaPattern"));

function isPattern(source: string): boolean {
  try {
    new RegExp(source, "m");
    return true;
  } catch {
    return false;
  }
}

/** A comparison; exactly one key is set. */
const comparison = {
  is: z.union([z.string(), z.number(), z.boolean()]).optional(),
  isNot: z.union([z.string(), z.number(), z.boolean()]).optional(),
  matches: pattern.optional(),
  /** true: the value exists; false: it does not */
  exists: z.boolean().optional(),
  atLeast: z.number().optional(),
  atMost: z.number().optional(),
};

/** A field of an API object, or the existence of the object. */
const objectCheck = z.strictObject({
  /** path of a GET: `/api/v1/nodes/{{node}}` */
  object: text,
  /** `status.conditions[type=Ready].status`; without it the object itself */
  field: text.refine(isFieldPath, catalogueText("schemaField")).optional(),
  ...comparison,
});
/** The number of objects in a list whose field matches. */
const listCheck = z.strictObject({
  list: text,
  where: text
    .refine((where) => isFieldPath(where.split("==")[0]?.trim() ?? ""), catalogueText("schemaField"))
    .optional(),
  ...comparison,
});
/** The output of a command. `output` is the id of the step, or the name of the background command. */
const outputCheck = z.strictObject({
  output: id,
  stream: z.enum(["stdout", "stderr", "both"]).default("both"),
  matches: pattern,
});
const exitCheck = z.strictObject({ exit: id, is: z.number().int().min(0).max(255) });
/** A file in the lab's folder. */
const fileCheck = z.strictObject({
  file: text,
  exists: z.boolean().optional(),
  matches: pattern.optional(),
  /** permission bits as `600` */
  mode: z
    .string()
    .regex(/^[0-7]{3}$/, catalogueText("schemaMode"))
    .optional(),
});
/** A read-only command, run for its output. `answer` is the file in which it looks for the learner's answer. */
const commandCheck = z.strictObject({
  command: text,
  exit: z.number().int().default(0),
  matches: pattern.optional(),
  answer: text.optional(),
});

export interface CheckOptions {
  /** `90s` on the lab's clock: how long to repeat a failing check */
  readonly within?: string | undefined;
  /** pattern of the deciding fact, for a check that reads no object of the cluster: the last match is shown */
  readonly because?: string | undefined;
}
export type LeafCheck =
  | z.infer<typeof objectCheck>
  | z.infer<typeof listCheck>
  | z.infer<typeof outputCheck>
  | z.infer<typeof exitCheck>
  | z.infer<typeof fileCheck>
  | z.infer<typeof commandCheck>;
/** A read-only check; `within` repeats it. */
export type Check =
  | (LeafCheck & CheckOptions)
  | ({ readonly all: readonly Check[] } & CheckOptions)
  | ({ readonly any: readonly Check[] } & CheckOptions)
  | ({ readonly not: Check } & CheckOptions);

const CHECK_KEYS = ["object", "list", "output", "exit", "file", "command", "all", "any", "not"] as const;
const duration = z.string().regex(/^\d+(ms|s|m|h)$/, catalogueText("schemaDuration"));

/** A union of shapes, chosen by the first key that is present, so that errors refer to that shape only. */
function byKey<T>(what: MessageKey, shapes: Readonly<Record<string, z.ZodType>>): z.ZodType<T> {
  return z.unknown().transform((value, context) => {
    const keys = typeof value === "object" && value !== null ? Object.keys(value) : [];
    const found = Object.keys(shapes).filter((key) => keys.includes(key));
    const shape = shapes[found[0] ?? ""];
    if (shape === undefined) {
      const message = catalogueText(what, { names: Object.keys(shapes).join(", ") });
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }
    const parsed = shape.safeParse(value, { error: issueWords });
    if (parsed.success) return parsed.data as T;
    for (const issue of parsed.error.issues) {
      context.addIssue({ code: "custom", path: [...issue.path], message: issue.message });
    }
    return z.NEVER;
  }) as unknown as z.ZodType<T>;
}

const options = { within: duration.optional(), because: pattern.optional() };
/** For a check with members, `within` applies to the whole. */
const member: z.ZodType<Check> = z.lazy(() =>
  check.refine((one) => one.within === undefined, { message: catalogueText("schemaWithin"), path: ["within"] }),
);
export const check: z.ZodType<Check> = z.lazy(() =>
  byKey<Check>("schemaCheck", {
    // `exit` refers to a step in one shape and is a setting in others: shapes with the setting come first.
    command: commandCheck.extend(options),
    object: objectCheck.extend(options),
    list: listCheck.extend(options),
    output: outputCheck.extend(options),
    exit: exitCheck.extend(options),
    file: fileCheck.extend(options),
    all: z.strictObject({ all: z.array(member).min(1), ...options }),
    any: z.strictObject({ any: z.array(member).min(1), ...options }),
    not: z.strictObject({ not: member, ...options }),
  } satisfies Record<(typeof CHECK_KEYS)[number], z.ZodType>),
);

/** `/api/v1/nodes/{{node}}` */
const objectPath = z.string().regex(/^\/apis?\/\S+[^/\s]$/, catalogueText("schemaPath"));

const value = z.union([z.string(), z.number(), z.boolean()]);
/** Runs a command to its end; an exit code other than `exit` is a failure. `any`: the outcomes differ in it. */
const runAction = z.strictObject({ run: text, exit: z.union([z.number().int(), z.literal("any")]).default(0) });
/**
 * Runs a command in the background until `stop` or the lab's end. `until` matches the output of a command that has
 * started.
 */
const keepAction = z.strictObject({ keep: text, as: id, until: pattern.optional() });
const stopAction = z.strictObject({ stop: id });
/** Writes a file of the lab's folder. */
const writeAction = z.strictObject({
  write: text,
  text: z.string(),
  mode: z
    .string()
    .regex(/^[0-7]{3}$/, catalogueText("schemaMode"))
    .optional(),
});
/** An injection: see `injections.ts`. */
const injectAction = z.strictObject({ inject: id, with: z.record(z.string(), value).default({}) });
const waitAction = z.strictObject({ wait: check });
export type Action =
  | z.infer<typeof runAction>
  | z.infer<typeof keepAction>
  | z.infer<typeof stopAction>
  | z.infer<typeof writeAction>
  | z.infer<typeof injectAction>
  | { readonly wait: Check };

const action: z.ZodType<Action> = byKey<Action>("schemaAction", {
  run: runAction,
  keep: keepAction,
  stop: stopAction,
  write: writeAction,
  inject: injectAction,
  wait: waitAction,
});

/** A file of the Kubernetes repository at v1.25 and the function: `pkg/kubelet/pleg/generic.go relist`. */
const upstream = z.string().regex(/^(pkg|cmd|staging|plugin)\/[\w./-]+\.go \w+$/, catalogueText("schemaUpstream"));

/** Patterns of the lines that the trace of the step's commands is about. Default: those of its checks, and of `observe` steps. */
const shows = z.array(pattern).min(1).max(8).optional();

const readStep = z.strictObject({ id, read: z.literal(true), upstream: upstream.optional() });
/**
 * A command for the learner to run: here, or in another terminal (`elsewhere`). `keep` runs it in the background under
 * the step's id. `expect` is the check for success; without it, the exit code decides.
 */
const doStep = z.strictObject({
  id,
  do: text,
  exit: z.number().int().default(0),
  where: z.enum(["here", "elsewhere"]).default("here"),
  keep: z.boolean().default(false),
  until: pattern.optional(),
  expect: check.optional(),
  shows,
});
/** A question; then `run`; then the outcome whose check succeeds is the right answer. Exactly one must succeed. */
const predictStep = z.strictObject({
  id,
  predict: z.array(id).min(2).max(6),
  run: z.array(action).min(1),
  outcomes: z.record(id, check),
  shows,
});
/** The lines of a command's output to look at; each pattern must match. */
const observeStep = z.strictObject({ id, observe: id, lines: z.array(pattern).min(1), upstream });
/**
 * A goal that the learner reaches in any way. `solve` proves that it is reachable. `mistakes`: patterns of wrong
 * answers in the file that the check reads; the text explains why they are wrong.
 */
const checkStep = z.strictObject({
  id,
  check,
  solve: z.array(action).min(1),
  mistakes: z.record(id, pattern).optional(),
  shows,
});

export type ReadStep = z.infer<typeof readStep>;
export type DoStep = z.infer<typeof doStep>;
export type PredictStep = z.infer<typeof predictStep>;
export type ObserveStep = z.infer<typeof observeStep>;
export type CheckStep = z.infer<typeof checkStep>;
export type Step = ReadStep | DoStep | PredictStep | ObserveStep | CheckStep;

const step: z.ZodType<Step> = byKey<Step>("schemaStep", {
  read: readStep,
  do: doStep,
  predict: predictStep,
  observe: observeStep,
  check: checkStep,
});

/** A variable, whose value is chosen for each run of the lab. */
const variable = z.union([
  z.strictObject({ oneOf: z.array(z.string().min(1)).min(1) }),
  z.strictObject({ between: z.tuple([z.number().int(), z.number().int()]) }),
]);

export const definition = z.strictObject({
  /** of this file format */
  format: z.literal(1),
  id,
  /** chapter number, such as `2b`; for incidents `i4` */
  number: z.string().regex(/^(\d[a-z]?|i\d+)$/, catalogueText("schemaNumber")),
  kind: z.enum(["chapter", "incident"]),
  minutes: z.number().int().min(1).max(60),
  /** incremented when steps change, so that old progress does not count */
  revision: z.number().int().min(1).default(1),
  /** required programs; kubectl only for lines that the built-in one does not support */
  needs: z.array(z.enum(["openssl", "containerd", "kubectl"])).default([]),
  /** `embedded`: only on the embedded cluster; `any`: also on the learner's own cluster, with the required `rights` */
  cluster: z.enum(["embedded", "any"]).default("embedded"),
  /** `create certificatesigningrequests.certificates.k8s.io` */
  rights: z.array(z.string().regex(/^[a-z]+ [a-z0-9./-]+$/, catalogueText("schemaRight"))).default([]),
  /** the reason why it needs the embedded cluster */
  embeddedBecause: z.strictObject({ en: text, zh: text }).optional(),
  /**
   * For a lab on any cluster: paths of its objects in addition to its `nodes`. They must not exist on the learner's own
   * cluster before, and all are removed at the end; with a Node also its Lease, pods and certificate requests.
   */
  makes: z.array(objectPath).optional(),
  /** paths that the learner's own cluster must serve, requested while the lab's `nodes` run */
  wants: z.array(objectPath).default([]),
  /** the node for `{{onNode}}`, which binds pods of `kubectl run` if the cluster has other nodes */
  runsOn: id.default("node-1"),
  /** actions that remove further objects of the lab from a cluster that outlives it */
  cleanup: z.array(action).default([]),
  /** speed of the lab's clock */
  speed: z.number().min(1).max(1000).default(1),
  /** speed of the proof; limited by the lab's commands */
  proofSpeed: z.number().min(1).max(10_000).default(60),
  kubeVersion: z
    .string()
    .regex(/^1\.\d+$/, catalogueText("schemaRelease"))
    .default("1.25"),
  /**
   * The kubelets that the cluster starts with, named node-1, node-2, ... Each has a folder of its name in the lab's
   * folder: manifests/ with its static pods, and kubelet.log. Its trace is an output of its name.
   */
  nodes: z.number().int().min(0).max(5).default(0),
  /** whether the API server of the embedded cluster verifies the serving certificates of kubelets */
  verifyKubelets: z.boolean().default(false),
  /**
   * node-1 runs the API server as a static pod: the control plane ends and starts with its container. Its state is in `etcd` in the
   * lab's folder; only on the embedded cluster
   */
  apiServerPod: z.boolean().default(false),
  nodeOptions: z
    .strictObject({
      /** verbosity of their traces, as -v */
      verbosity: z.union([z.literal(1), z.literal(2), z.literal(3)]).default(2),
      /** duration of a pull, in ms of the lab's clock */
      pullMs: z.number().int().min(0).default(400),
      /** they run kube-proxy, so that Services work in their pods; only on the embedded cluster */
      kubeProxy: z.boolean().default(false),
      /** each kubelet reaches the API server through its own link; `{{link1}}`/cut cuts it; only on the embedded cluster */
      link: z.boolean().default(false),
    })
    .prefault({}),
  vars: z.record(z.string().regex(/^[a-z][a-zA-Z0-9]*$/, catalogueText("schemaVariableName")), variable).default({}),
  /** patterns of steps of a trace that earlier labs explain: such a stage is one line */
  explained: z.array(pattern).default([]),
  setup: z.array(action).default([]),
  /** checks that must succeed before the first step */
  begin: z.array(check).min(1),
  steps: z.array(step).min(2),
});

export type LabDefinition = z.infer<typeof definition>;
