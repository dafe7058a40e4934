import type { V1Job } from "@kubernetes/client-node";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { factFor } from "../../../../util/release/facts.js";

const CONTROLLER_UID = "controller-uid";
const JOB_NAME = "job-name";
const PREFIX = "batch.kubernetes.io/";

export type GeneratedLabels = Readonly<Record<string, string>>;

/** The labels of a job's pods by release: newer ones have a prefix as well. */
export function generatedLabels({ metadata }: Wire<V1Job>, kubeVersion: string): GeneratedLabels {
  const { name = "", uid = "" } = metadata;
  const legacy = { [CONTROLLER_UID]: uid, [JOB_NAME]: name };
  if (!factFor("jobPrefixedLabels", kubeVersion)) return legacy;
  return { ...legacy, [`${PREFIX}${CONTROLLER_UID}`]: uid, [`${PREFIX}${JOB_NAME}`]: name };
}

/** The label that a generated selector matches. */
function selectorLabel(kubeVersion: string): string {
  return factFor("jobPrefixedLabels", kubeVersion) ? `${PREFIX}${CONTROLLER_UID}` : CONTROLLER_UID;
}

/**
 * Adds a selector that matches this job's pods only, and the labels for it to the template. Labels from the client stay,
 * and validation refuses those that conflict.
 *
 * Mirrors generateSelector in pkg/registry/batch/job/strategy.go. The labels of the job default to those of the template,
 * which have the generated ones by now (SetDefaults_Job).
 */
export function generateSelector(job: Wire<V1Job>, kubeVersion: string): Wire<V1Job> {
  const { metadata, spec } = job;
  if (spec === undefined || spec.manualSelector === true) return job;
  const { template, selector } = spec;
  const labels = { ...template?.metadata?.labels };
  for (const [key, value] of Object.entries(generatedLabels(job, kubeVersion))) labels[key] ??= value;
  const label = selectorLabel(kubeVersion);
  const matchLabels = { [label]: metadata.uid ?? "", ...selector?.matchLabels };
  const hasLabels = Object.keys(metadata.labels ?? {}).length > 0;
  return {
    ...job,
    metadata: hasLabels ? metadata : { ...metadata, labels },
    spec: {
      ...spec,
      selector: { ...selector, matchLabels },
      template: { ...template, metadata: { ...template?.metadata, labels } },
    },
  };
}
