import type { HandlerEvent, HandlerTask, PodHandler } from "../../../src/lab/virtual/handler.js";
import type { HandlerOutcome } from "../../../src/lab/virtual/outcome.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";

export function podOf(name: string, spec: Partial<V1Pod["spec"]> = {}): V1Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid: `uid-${name}` },
    spec: { containers: [{ name: "c" }], ...spec },
    status: {},
  };
}

export function taskOf(name: string, env: Readonly<Record<string, string>> = {}): HandlerTask {
  const container = { name: "c", image: "any", command: [], args: [], workingDir: "", env, mounts: [] };
  return { pod: podOf(name), containers: [container] };
}

export interface Heard {
  readonly log: string;
  readonly logBytes: number;
  readonly progress: readonly unknown[];
  readonly outcome: HandlerOutcome | undefined;
}

/** Runs a handler to its end. @param onEvent called with each event before the next one is requested */
export async function hear(
  handler: PodHandler,
  task: HandlerTask,
  options: {
    readonly abort?: AbortController;
    readonly kill?: AbortController;
    readonly onEvent?: (event: HandlerEvent) => void;
  } = {},
): Promise<Heard> {
  const { abort = new AbortController(), kill = new AbortController(), onEvent } = options;
  let log = "";
  let logBytes = 0;
  const progress: unknown[] = [];
  let outcome: HandlerOutcome | undefined;
  for await (const event of handler.run(task, { abort: abort.signal, kill: kill.signal })) {
    if (event.kind === "log") {
      logBytes += event.bytes.length;
      if (log.length < 10_000) log += Buffer.from(event.bytes).toString();
    } else if (event.kind === "progress") progress.push(event.progress);
    else outcome = event.outcome;
    onEvent?.(event);
  }
  return { log, logBytes, progress, outcome };
}
