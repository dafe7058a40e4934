import type { AddCommand } from "./cli/context.js";

/** A subcommand as `--help` lists it; the module behind it is loaded only when it runs. */
export interface CommandEntry {
  /** the heading above it in `--help` */
  readonly group: string;
  readonly name: string;
  readonly summary: string;
  load(): Promise<AddCommand>;
}

type Entry = Omit<CommandEntry, "group">;

/** By heading, in the order in which a learner meets them. A new command is a new row here and a file in `commands/`. */
const GROUPS: Readonly<Record<string, readonly Entry[]>> = {
  "Learn:": [
    {
      name: "learn",
      summary: "guided walkthroughs: do, predict, observe, check",
      load: async () => (await import("./learn/learn.js")).addLearnCommand,
    },
    {
      name: "build",
      summary: "write parts of the kubelet yourself; each save is judged",
      load: async () => (await import("./build/build.js")).addBuildCommand,
    },
    {
      name: "explain",
      summary: "what a reason, a condition, an event, a message or a word means",
      load: async () => (await import("./explain/explain.js")).addExplainCommand,
    },
    {
      name: "source",
      summary: "print the source of a chapter, to read next to Kubernetes' own",
      load: async () => (await import("./explain/source.js")).addSourceCommand,
    },
  ],
  "The kubelet, chapter by chapter:": [
    {
      name: "bootstrap",
      summary: "join a node: token, CSR, certificate, registration",
      load: async () => (await import("./bootstrap/bootstrap.js")).addBootstrapCommand,
    },
    {
      name: "lease",
      summary: "keep a node Ready, or stop its heartbeats and see what follows",
      load: async () => (await import("./lease/lease.js")).addLeaseCommand,
    },
    {
      name: "token",
      summary: "create, list and delete bootstrap tokens",
      load: async () => (await import("./bootstrap/token.js")).addTokenCommand,
    },
    {
      name: "csr",
      summary: "certificate signing requests, step by step",
      load: async () => (await import("./csr/csr.js")).addCsrCommand,
    },
    {
      name: "pleg",
      summary: "watch how the kubelet notices what happens to containers",
      load: async () => (await import("./pleg/pleg.js")).addPlegCommand,
    },
    {
      name: "static-pod",
      summary: "watch a file become a static pod with a mirror pod",
      load: async () => (await import("./static-pod/static-pod.js")).addStaticPodCommand,
    },
    {
      name: "pod-manager",
      summary: "see which pods a kubelet should run: a page, and JSON",
      load: async () => (await import("./pod-manager/pod-manager.js")).addPodManagerCommand,
    },
    {
      name: "pod-worker",
      summary: "watch pod workers sync, wait, merge updates and end pods",
      load: async () => (await import("./pod-worker/pod-worker.js")).addPodWorkerCommand,
    },
    {
      name: "exec",
      summary: "run a command in a pod, and see every hop on the way there",
      load: async () => (await import("./streams/exec.js")).addExecCommand,
    },
    {
      name: "attach",
      summary: "see the output of a container's process, and send it input",
      load: async () => (await import("./streams/attach.js")).addAttachCommand,
    },
    {
      name: "logs",
      summary: "print a container's log, and see where it comes from",
      load: async () => (await import("./streams/logs.js")).addLogsCommand,
    },
    {
      name: "port-forward",
      summary: "forward local ports to ports of a pod",
      load: async () => (await import("./streams/port-forward.js")).addPortForwardCommand,
    },
    {
      name: "device-plugin",
      summary: "give a node made-up devices, and watch how containers get them",
      load: async () => (await import("./node/device-plugin.js")).addDevicePluginCommand,
    },
    {
      name: "node",
      summary: "a small kubelet: joins a cluster, runs pods, reports back",
      load: async () => (await import("./node/node.js")).addNodeCommand,
    },
  ],
  "A cluster to try things in:": [
    {
      name: "cluster",
      summary: "run the embedded control plane for other commands and kubectl",
      load: async () => (await import("./cluster/cluster.js")).addClusterCommand,
    },
    {
      name: "time",
      summary: "hold the clock of a running cluster: pause, step, jump, timers",
      load: async () => (await import("./cluster/time.js")).addTimeCommand,
    },
    {
      name: "chaos",
      summary: "run scenarios of faults in virtual time, and judge what follows",
      load: async () => (await import("./cluster/chaos.js")).addChaosCommand,
    },
    {
      name: "replay",
      summary: "run a recorded simulation again, and ask what if",
      load: async () => (await import("./trace/replay.js")).addReplayCommand,
    },
    {
      name: "grade",
      summary: "examine your own node agent, in any language: is it a kubelet?",
      load: async () => (await import("./grade/grade.js")).addGradeCommand,
    },
    {
      name: "runtime",
      summary: "run the embedded container runtime for a kubelet or crictl",
      load: async () => (await import("./runtime/runtime.js")).addRuntimeCommand,
    },
  ],
  "Look inside:": [
    {
      name: "journey",
      summary: "the life of a pod or a Deployment in numbered steps, from the request to Running",
      load: async () => (await import("./journey/journey.js")).addJourneyCommand,
    },
    {
      name: "request",
      summary: "send one request, and see its way through the API server to the storage and the watches",
      load: async () => (await import("./request/request.js")).addRequestCommand,
    },
    {
      name: "etcd",
      summary: "show the keys and objects that API servers keep in an etcd, and how they change",
      load: async () => (await import("./etcd/etcd.js")).addEtcdCommand,
    },
    {
      name: "proxy",
      summary: "show the rules by which connections to Services reach pods",
      load: async () => (await import("./proxy/proxy.js")).addProxyCommand,
    },
    {
      name: "trace",
      summary: "view, explain, compare and convert the traces of --trace",
      load: async () => (await import("./trace/trace.js")).addTraceCommand,
    },
  ],
  "For the shell:": [
    {
      name: "completion",
      summary: "print a script with which bash, zsh or fish completes commands",
      load: async () => (await import("./completion/completion.js")).addCompletionCommand,
    },
  ],
};

export const COMMANDS: readonly CommandEntry[] = Object.entries(GROUPS).flatMap(([group, entries]) =>
  entries.map((entry) => ({ ...entry, group })),
);
