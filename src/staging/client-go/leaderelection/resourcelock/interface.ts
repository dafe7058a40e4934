/**
 * The leader, and the time since it leads. Mirrors LeaderElectionRecord in k8s.io/client-go/tools/leaderelection/resourcelock/interface.go.
 */
export interface LeaderElectionRecord {
  /** "": the lock is free */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  /** RFC 3339 with six decimals */
  readonly acquireTime: string;
  /** RFC 3339 with six decimals */
  readonly renewTime: string;
  readonly leaderTransitions: number;
}

/** The object that candidates compete for. Mirrors Interface in k8s.io/client-go/tools/leaderelection/resourcelock/interface.go. */
export interface ResourceLock {
  /** of this candidate */
  readonly identity: string;
  /** `kube-system/kube-scheduler` */
  readonly description: string;
  /** undefined: the lock does not exist yet */
  get(): Promise<LeaderElectionRecord | undefined>;
  /** @throws if another candidate was faster */
  create(record: LeaderElectionRecord): Promise<void>;
  /** Changes the record that was last read or written. @throws if it has changed since */
  update(record: LeaderElectionRecord): Promise<void>;
  /** Records an event about the lock: `IDENTITY became leader`. */
  recordEvent(what: string): void;
}
