import type { FsNode } from "../../shell/fs/nodes.js";
import { type Confinement, capabilitiesOf } from "../../shell/process/confinement.js";
import { ProcessTable } from "../../shell/process/process-table.js";
import { SIGINT, SIGKILL, SIGTERM } from "../../shell/process/signals.js";

const ROOT = { uid: 0, gid: 0, groups: [0] };
/** USER of the pause image. */
const PAUSE_USER = { uid: 65_535, gid: 65_535, groups: [65_535] };
const KUBERNETES = "/etc/kubernetes";

/** The programs of a node with the scores of their units. They cannot be signalled, because they do not run there. */
const PROGRAMS: readonly (readonly [oomScoreAdj: number, ...argv: string[]])[] = [
  [0, "/sbin/init"],
  [-999, "/usr/bin/containerd"],
  [
    -999,
    "/usr/bin/kubelet",
    `--bootstrap-kubeconfig=${KUBERNETES}/bootstrap-kubelet.conf`,
    `--kubeconfig=${KUBERNETES}/kubelet.conf`,
    "--config=/var/lib/kubelet/config.yaml",
  ],
];
/** The kubelet's score of sandboxes. */
const SANDBOX_OOM_SCORE = -998;

function confinement(isPrivileged: boolean, oomScoreAdj: number): Confinement {
  const capabilities = capabilitiesOf(isPrivileged, { add: [], drop: [] });
  return { capabilities, noNewPrivileges: false, seccomp: 0, sysctls: {}, oomScoreAdj };
}

/** The node's PID namespace, which pods with hostPID see. @param hostPath see RuntimeOptions.nodeRoot */
export function nodeProcesses(hostPath: string | undefined): ProcessTable {
  const table = new ProcessTable();
  const mount = hostPath === undefined ? undefined : { containerPath: "/", hostPath, isReadonly: false };
  const root = () => mount && ({ type: "mount", owner: table, mode: 0o755, mtimeMs: 0, mount } as const);
  for (const [at, [score, ...argv]] of PROGRAMS.entries()) {
    table.add({ parentPid: at === 0 ? 0 : 1, argv, user: ROOT, confinement: confinement(true, score), root });
  }
  return table;
}

/**
 * The PID namespace of a sandbox, whose PID 1 is its own process. Containers of a pod with shareProcessNamespace join it.
 * @param pod.onEnd called when a signal ends PID 1, and with it the namespace
 * @param pod.root the files of its image
 * @returns a function that removes it from the node's processes
 */
export function sandboxProcesses(
  node: ProcessTable,
  { onEnd, root }: { readonly onEnd: () => void; readonly root: () => FsNode | undefined },
): { readonly processes: ProcessTable; readonly remove: () => void } {
  const processes = new ProcessTable(node);
  const onSignal = (signal: number, from: ProcessTable) => {
    // The first process of a namespace ignores SIGKILL from inside.
    const ends = signal === SIGTERM || signal === SIGINT || (signal === SIGKILL && from !== processes);
    if (!ends) return;
    processes.killAll();
    onEnd();
  };
  const rights = { user: PAUSE_USER, confinement: confinement(false, SANDBOX_OOM_SCORE) };
  return { processes, remove: processes.add({ ...rights, parentPid: 0, argv: ["/pause"], root, onSignal }) };
}
