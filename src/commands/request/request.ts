import { type Command, InvalidArgumentError, Option } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addEtcdOptions, addOutputOptions, parsePath } from "../cli/options.js";
import type { RequestOptions } from "./run.js";

const MAX_WATCHERS = 100;

/** `kubelab request`: one request and all its stages in the API server. */
export function addRequestCommand(command: Command, context: CliContext): void {
  command
    .description(
      "Starts an embedded control plane, sends it one request and prints each stage of its way: filters, decoding, defaults, admission, validation, strategy, the transaction of the storage, the response, and who gets the watch event; -v 1 adds the reason, the changes, and upstream's file and function. What an API server does shows only in its own process, so a running cluster is not joined.",
    )
    .argument("[verb]", "create, get, update, patch or delete (default, with -f: create)")
    .argument("[object]", "pod/NAME, pod/NAME/SUBRESOURCE, a plural such as pods, or a path such as /version");
  addExamples(
    command,
    "kubelab request -f pod.yaml",
    "kubelab request get pods --as jane --json",
    `kubelab request patch po/a --with po/a -p '{"metadata":{"labels":{"b":"c"}}}'`,
    "kubelab request delete pod/a --with pod/a --etcd http://127.0.0.1:2379",
  );
  const collect = (value: string, list: readonly string[] = []) => [...list, parsePath(value)];
  addEtcdOptions(addOutputOptions(command))
    .option(
      "-f, --filename <file>",
      "the object to create or update, or the body for a path or subresource; - is stdin",
      parsePath,
    )
    .option("-p, --patch <json>", "the patch")
    .addOption(new Option("--type <type>", "of the patch").choices(["strategic", "merge", "json"]).default("strategic"))
    .option("-n, --namespace <name>", "namespace of the object", "default")
    .option("--as <user>", "send it as this user, by impersonation")
    .option("--dry-run", "ask the server to store nothing")
    .option("--with <object>", "create this before: pod/NAME, deployment/NAME or a file; can be repeated", collect)
    .option("--watchers <count>", "clients that watch the resource meanwhile", parseWatchers, 2)
    .option("--kube-version <release>", "behave like this release", "1.25")
    .action(async (verb: string | undefined, object: string | undefined, options: RequestOptions) => {
      const { runRequest } = await import("./run.js");
      await runRequest(context, { verb, object }, options);
    });
}

function parseWatchers(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count <= MAX_WATCHERS) return count;
  throw new InvalidArgumentError(`expected a number from 0 to ${MAX_WATCHERS}.`);
}
