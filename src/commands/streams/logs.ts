import type { Command } from "commander";
import { streamLog } from "../../staging/client-go/transport/log-stream.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { parseDuration, targetOptions } from "../cli/options.js";
import { explainContainer } from "./container-hint.js";
import { openStreamEnvironment } from "./environment.js";
import { addContainerOption, addPodOptions, type PodOptions, parseCount, parseCountOrAll } from "./options.js";
import { chooseContainer, parsePodName, podPath, withPod } from "./pod.js";

interface LogsOptions extends PodOptions {
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly tail?: number;
  /** ms */
  readonly since?: number;
  readonly limitBytes?: number;
}

const UPSTREAM = { file: "staging/src/k8s.io/kubectl/pkg/cmd/logs/logs.go", func: "RunLogs" };

/** `kubelab logs`: a container's log, from the file on its node. */
export function addLogsCommand(command: Command, context: CliContext): void {
  command
    .description(
      "Requests a container's log from the API server, which requests it from the kubelet, which reads the file that the runtime writes. Prints the log to stdout, and the hops to stderr.",
    )
    .argument("<pod>", "name of the pod");
  addExamples(command, "kubelab logs nginx", "kubelab logs nginx -f --tail 1", "kubelab logs mypod -c app --previous");
  addContainerOption(addPodOptions(command))
    .option("-f, --follow", "keep printing new lines, until Ctrl-C")
    .option("-p, --previous", "the log of the container's previous instance")
    .option("--timestamps", "print the time before each line")
    .option("--tail <lines>", "only the last lines; -1: all", parseCountOrAll)
    .option("--since <time>", "only lines newer than this: 30s, 5m; 0: all", parseDuration)
    .option("--limit-bytes <bytes>", "at most this many bytes; 0: all", parseCount)
    .action((pod: string, options: LogsOptions) => runLogs(context, pod, options));
}

async function runLogs(context: CliContext, text: string, options: LogsOptions): Promise<void> {
  const name = parsePodName(text, options.namespace);
  await using environment = await openStreamEnvironment(context, "logs", targetOptions(options), name, "running");
  const { client } = environment;
  const step = { title: `Read the log of ${name.name}`, upstream: UPSTREAM };
  await withPod(context, environment, name, step, async (pod) => {
    const container = chooseContainer(pod, options.container, client.trace);
    const path = `${podPath(name, "log")}?${logQuery(container, options)}`;
    const { streams, signal } = context;
    const { bytes, cause } = await explainContainer(pod, container, () =>
      streamLog(client, path, streams.stdout, signal),
    );
    const to = `${bytes} bytes`;
    const ended = { kind: "state", subject: `the log of ${container}`, what: "ended,", to } as const;
    client.trace.because(cause, () => client.trace.emit(ended, { actor: "user", peer: { actor: "apiserver" } }));
  });
}

/**
 * Mirrors PodLogOptions in k8s.io/api/core/v1, and ToLogOptions in k8s.io/kubectl/pkg/cmd/logs/logs.go, which omits defaults.
 * Differs: rounds less than half a second up to one; kubectl rounds it to 0, which the API server refuses.
 */
function logQuery(container: string, options: LogsOptions): URLSearchParams {
  const { follow, previous, timestamps, tail, since, limitBytes } = options;
  const query = new URLSearchParams();
  if (container !== "") query.set("container", container);
  if (follow === true) query.set("follow", "true");
  if (limitBytes !== undefined && limitBytes > 0) query.set("limitBytes", String(limitBytes));
  if (previous === true) query.set("previous", "true");
  if (since !== undefined && since > 0) query.set("sinceSeconds", String(Math.max(1, Math.round(since / 1000))));
  if (tail !== undefined && tail >= 0) query.set("tailLines", String(tail));
  if (timestamps === true) query.set("timestamps", "true");
  return query;
}
