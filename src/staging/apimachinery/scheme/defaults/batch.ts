import { type DefaultsFunction, structOf } from "./struct.js";

/** The number of failed pods that a job accepts. */
const DEFAULT_BACKOFF_LIMIT = 6;

/** Mirrors SetDefaults_Job in pkg/apis/batch/v1/defaults.go. The jobs in a CronJob's template get no such defaults. */
export const batchDefaults: Readonly<Record<string, DefaultsFunction>> = {
  Job(job) {
    const spec = structOf(job.spec);
    if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
    spec.parallelism ??= 1;
    spec.backoffLimit ??= DEFAULT_BACKOFF_LIMIT;
    spec.completionMode ??= "NonIndexed";
    spec.suspend ??= false;
    const metadata = structOf(job.metadata);
    const { labels } = structOf(structOf(spec.template).metadata);
    if (labels !== undefined && Object.keys(structOf(metadata.labels)).length === 0) {
      metadata.labels = { ...structOf(labels) };
    }
  },
};
