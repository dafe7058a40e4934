import { type NodeTask, ProcessTable } from "../../shell/process/process-table.js";
import { SIGINT, SIGKILL, SIGTERM } from "../../shell/process/signals.js";

const ROOT = { uid: 0, gid: 0, groups: [0] };
/** USER of the pause image. */
const PAUSE_USER = { uid: 65_535, gid: 65_535, groups: [65_535] };
const KUBERNETES = "/etc/kubernetes";

/** The programs of a node. They cannot be signalled, because they do not run there. */
const PROGRAMS: readonly (readonly string[])[] = [
  ["/sbin/init"],
  ["/usr/bin/containerd"],
  [
    "/usr/bin/kubelet",
    `--bootstrap-kubeconfig=${KUBERNETES}/bootstrap-kubelet.conf`,
    `--kubeconfig=${KUBERNETES}/kubelet.conf`,
    "--config=/var/lib/kubelet/config.yaml",
  ],
];

/** The node's PID namespace, which pods with hostPID see. */
export function nodeProcesses(): ProcessTable {
  const table = new ProcessTable();
  for (const [at, argv] of PROGRAMS.entries()) table.add({ parentPid: at === 0 ? 0 : 1, argv, user: ROOT });
  return table;
}

/**
 * The PID namespace of a sandbox, whose PID 1 is its own process. Containers of a pod with shareProcessNamespace join it.
 * @param onEnd called when a signal ends PID 1, and with it the namespace
 * @returns a function that removes it from the node's processes
 */
export function sandboxProcesses(
  node: ProcessTable,
  onEnd: () => void,
): { readonly processes: ProcessTable; readonly remove: () => void } {
  const processes = new ProcessTable(node);
  const onSignal = (signal: number, from: ProcessTable) => {
    // The first process of a namespace ignores SIGKILL from inside.
    const ends = signal === SIGTERM || signal === SIGINT || (signal === SIGKILL && from !== processes);
    if (!ends) return;
    processes.killAll();
    onEnd();
  };
  const pause: NodeTask = { parentPid: 0, argv: ["/pause"], user: PAUSE_USER, onSignal };
  return { processes, remove: processes.add(pause) };
}
