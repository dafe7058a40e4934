/** The annotation of jobs whose pods are counted with finalizers, and the finalizer itself. */
export const JOB_TRACKING = "batch.kubernetes.io/job-tracking";
