/** The enums of runtime.v1, under upstream's names. Fields carry plain numbers: a newer runtime may send other values. */

export const Protocol = { TCP: 0, UDP: 1, SCTP: 2 } as const;

export const MountPropagation = {
  PROPAGATION_PRIVATE: 0,
  PROPAGATION_HOST_TO_CONTAINER: 1,
  PROPAGATION_BIDIRECTIONAL: 2,
} as const;

export const NamespaceMode = { POD: 0, CONTAINER: 1, NODE: 2, TARGET: 3 } as const;

export const SupplementalGroupsPolicy = { Merge: 0, Strict: 1 } as const;

/** SecurityProfile.ProfileType */
export const ProfileType = { RuntimeDefault: 0, Unconfined: 1, Localhost: 2 } as const;

export const PodSandboxState = { SANDBOX_READY: 0, SANDBOX_NOTREADY: 1 } as const;

export const ContainerState = {
  CONTAINER_CREATED: 0,
  CONTAINER_RUNNING: 1,
  CONTAINER_EXITED: 2,
  CONTAINER_UNKNOWN: 3,
} as const;

export const ContainerEventType = {
  CONTAINER_CREATED_EVENT: 0,
  CONTAINER_STARTED_EVENT: 1,
  CONTAINER_STOPPED_EVENT: 2,
  CONTAINER_DELETED_EVENT: 3,
} as const;

export const MetricType = { COUNTER: 0, GAUGE: 1 } as const;

export const CgroupDriver = { SYSTEMD: 0, CGROUPFS: 1 } as const;

/** A container's own stop signal. The numbers are the enum's, not those of any operating system. */
export const Signal = {
  RUNTIME_DEFAULT: 0,
  SIGABRT: 1,
  SIGALRM: 2,
  SIGBUS: 3,
  SIGCHLD: 4,
  SIGCLD: 5,
  SIGCONT: 6,
  SIGFPE: 7,
  SIGHUP: 8,
  SIGILL: 9,
  SIGINT: 10,
  SIGIO: 11,
  SIGIOT: 12,
  SIGKILL: 13,
  SIGPIPE: 14,
  SIGPOLL: 15,
  SIGPROF: 16,
  SIGPWR: 17,
  SIGQUIT: 18,
  SIGSEGV: 19,
  SIGSTKFLT: 20,
  SIGSTOP: 21,
  SIGSYS: 22,
  SIGTERM: 23,
  SIGTRAP: 24,
  SIGTSTP: 25,
  SIGTTIN: 26,
  SIGTTOU: 27,
  SIGURG: 28,
  SIGUSR1: 29,
  SIGUSR2: 30,
  SIGVTALRM: 31,
  SIGWINCH: 32,
  SIGXCPU: 33,
  SIGXFSZ: 34,
  SIGRTMIN: 35,
  SIGRTMINPLUS1: 36,
  SIGRTMINPLUS2: 37,
  SIGRTMINPLUS3: 38,
  SIGRTMINPLUS4: 39,
  SIGRTMINPLUS5: 40,
  SIGRTMINPLUS6: 41,
  SIGRTMINPLUS7: 42,
  SIGRTMINPLUS8: 43,
  SIGRTMINPLUS9: 44,
  SIGRTMINPLUS10: 45,
  SIGRTMINPLUS11: 46,
  SIGRTMINPLUS12: 47,
  SIGRTMINPLUS13: 48,
  SIGRTMINPLUS14: 49,
  SIGRTMINPLUS15: 50,
  SIGRTMAXMINUS14: 51,
  SIGRTMAXMINUS13: 52,
  SIGRTMAXMINUS12: 53,
  SIGRTMAXMINUS11: 54,
  SIGRTMAXMINUS10: 55,
  SIGRTMAXMINUS9: 56,
  SIGRTMAXMINUS8: 57,
  SIGRTMAXMINUS7: 58,
  SIGRTMAXMINUS6: 59,
  SIGRTMAXMINUS5: 60,
  SIGRTMAXMINUS4: 61,
  SIGRTMAXMINUS3: 62,
  SIGRTMAXMINUS2: 63,
  SIGRTMAXMINUS1: 64,
  SIGRTMAX: 65,
} as const;
