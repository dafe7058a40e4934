/** When a write reaches the disk: before its answer, with others of the same moment; before its answer, alone; whenever the system likes. */
export const FSYNC_POLICIES = ["batch", "always", "never"] as const;

/**
 * - `batch`: a write is answered after the fsync that contains it. Writes that arrive while one runs share the next.
 * - `always`: the same with one fsync for each write.
 * - `never`: a write is answered when the system has it. It outlives the process, but not a loss of power.
 */
export type FsyncPolicy = (typeof FSYNC_POLICIES)[number];

/** Where a cluster is kept. */
export interface DiskConfig {
  /** absolute path of a folder of its own */
  readonly folder: string;
  readonly fsync: FsyncPolicy;
}
