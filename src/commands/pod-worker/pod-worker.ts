import type { Command } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addHttpOption, addInspectorOptions, type InspectorOptions } from "../inspector/options.js";
import { runInspector } from "../inspector/run.js";
import { showsPodWorkers, WorkerInspector } from "./inspector.js";

interface PodWorkerOptions extends InspectorOptions {
  readonly holdCache?: boolean;
}

/** `kubelab pod-worker`: one worker per pod: its work, its queue, and its next sync. */
export function addPodWorkerCommand(command: Command, context: CliContext): void {
  command.description(
    "Runs a kubelet and shows its pod workers: which state each pod is in, which updates are merged while a worker is busy, what a worker waits for. With --hold-cache each worker waits before GetNewerThan until you release it: by a key, or by POST /setcache?id=UID.",
  );
  addExamples(
    command,
    "kubelab pod-worker",
    "kubelab pod-worker --hold-cache --http 127.0.0.1:8080",
    "curl -X POST 'http://127.0.0.1:8080/setcache?id=UID'",
    "kubelab pod-worker --yes --cri unix:///run/containerd/containerd.sock",
  );
  addHttpOption(
    addInspectorOptions(command, "worker-node"),
    "serve a page, the workers as JSON, and POST /setcache, at this address",
  )
    .option("--hold-cache", "workers wait for their pod's status until you release them")
    .action((options: PodWorkerOptions) => runPodWorker(context, options));
}

async function runPodWorker(context: CliContext, { holdCache, ...options }: PodWorkerOptions): Promise<void> {
  let workers: WorkerInspector | undefined;
  await runInspector(context, {
    command: "pod-worker",
    options,
    levelOf: showsPodWorkers,
    hooks: (deps) => {
      workers = new WorkerInspector(deps, { isHolding: holdCache === true, http: options.http });
      return workers.hooks;
    },
    loops: (inspector, window) => workers?.loops(inspector, window) ?? [],
    keys: (inspector) => workers?.keys(inspector) ?? [],
    status: (inspector) => workers?.status(inspector) ?? { title: "", columns: [], rows: [] },
    result: (inspector) => workers?.result(inspector) ?? { text: "", json: {} },
  });
}
