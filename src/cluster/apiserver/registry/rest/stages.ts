import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { groupVersion } from "../../../../staging/apimachinery/api/resource.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { jsonDiff } from "../../../../staging/apimachinery/patch/json-diff.js";
import { collectionPath } from "../../../../staging/client-go/rest/paths.js";
import type { Change, DecisionFact, Upstream } from "../../../../trace/events.js";
import { redactBody } from "../../../../trace/redaction/redact-body.js";
import type { Level, Trace } from "../../../../trace/trace.js";
import { defined } from "../../../../util/defined.js";
import type { StoredEntry } from "../../storage/storage.js";

/** The file of the functions that run admission plugins. */
export const ADMISSION_FILE = "staging/src/k8s.io/apiserver/pkg/admission/chain.go";

/** What a scheduler's write to `pods/binding` reaches. */
export const BINDING = "BindingREST.Create";

/** The `-v` level from which a terminal shows what the API server does with each request. */
export const STAGE_LEVEL: Level = 3;

/** One stage of a request's way through the API server. */
export interface Stage extends Omit<DecisionFact, "kind" | "auditId"> {
  /** a name on the way, which changes and refuses nothing: a note, that lists of stages show at -v 2 */
  readonly isName?: boolean;
}

/** Determines which fields of an object are secret. */
export interface ResourceRow {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
}

/** Reports a stage. Call it as `report?.(…)`, so that a stage is only built for a trace that keeps it. */
export type ReportStage = (stage: Stage) => void;

/** @returns undefined if no trace keeps stages */
export function stageReporter(trace: Trace, auditId?: string): ReportStage | undefined {
  if (!trace.wants(STAGE_LEVEL)) return undefined;
  const options = { actor: "apiserver", level: STAGE_LEVEL } as const;
  return ({ isName, ...stage }) => {
    const { what: text, upstream } = stage;
    if (isName === true) trace.emit({ kind: "note", text, ...defined({ upstream }) }, options);
    else trace.emit({ kind: "decision", ...stage, ...defined({ auditId }) }, options);
  };
}

/** For writes of a client in this process, whose stages are as many as the controllers' writes: bindings, and what admission changes or refuses. */
export function admissionReporter(trace: Trace): ReportStage | undefined {
  const report = stageReporter(trace);
  if (report === undefined) return undefined;
  return (stage) => {
    const changes = /^(?:change|refuse) /.test(stage.what) && stage.upstream?.file === ADMISSION_FILE;
    if (changes || stage.upstream?.func === BINDING) report(stage);
  };
}

/** What differs between two forms of an object, as a JSON patch without secrets. */
export function changesBetween(
  { group, version, resource }: Omit<ResourceRow, "kind">,
  before: unknown,
  after: unknown,
): readonly Change[] {
  const apiVersion = groupVersion({ group, version });
  return redactBody(jsonDiff(before, after), collectionPath({ apiVersion, resource })) as readonly Change[];
}

/** Reports the result of validation; a refusal names the wrong fields, not their values. */
export function reportValidation(
  report: ReportStage | undefined,
  { kind, metadata: { name = "" } }: KubeObject,
  errors: readonly FieldError[],
  upstream: Upstream,
): void {
  if (report === undefined) return;
  const fields = [...new Set(errors.map(({ field }) => field))].join(", ");
  if (errors.length === 0) report({ what: `find ${kind} ${name} valid`, why: "no field is wrong", upstream });
  else report({ what: `refuse ${kind} ${name}: it is invalid`, why: `wrong: ${fields}`, upstream });
}

/** The version of an object that a change is made to. */
export function readStage(key: string, entry: StoredEntry | undefined, why: string, upstream: Upstream): Stage {
  const found = entry === undefined ? "it does not exist" : `mod_revision ${entry.modRevision}`;
  return { what: `read ${key}: ${found}`, why, upstream };
}

const DRY_RUN = {
  file: "staging/src/k8s.io/apiserver/pkg/registry/generic/registry/dryrun.go",
  func: "DryRunnableStorage",
};

/** Reports that a request with `dryRun=All` writes nothing. */
export function reportDryRun(report: ReportStage | undefined, key: string): void {
  report?.({
    what: `write nothing at ${key}`,
    why: "dryRun=All: the answer is what would be stored",
    upstream: DRY_RUN,
  });
}
