import { type Command, InvalidArgumentError } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addDurationOption, addEtcdOptions, addPlainOptions, parsePath } from "../cli/options.js";
import type { GetOptions } from "./get.js";
import type { WhichEtcd } from "./open.js";
import type { TxnOptions } from "./txn.js";
import type { WatchOptions } from "./watch.js";

/** `kubelab etcd get | watch | txn`: an etcd as API servers use it. */
export function addEtcdCommand(etcd: Command, context: CliContext): void {
  etcd.description(
    "Shows what API servers keep in an etcd: keys, revisions, leases, and the objects behind JSON and protobuf. It works on the etcd of any cluster, and of `kubelab cluster up --etcd`; without --etcd on that of a running kubelab cluster. Secrets are masked. Only `txn --write` writes.",
  );
  const subcommand = (name: string, description: string) =>
    addEtcdOptions(addPlainOptions(etcd.command(name).description(description)), "this etcd: http://…[,…]")
      .option("--cluster <name>", "that of the running cluster of this name")
      .option("--show-secrets", "do not mask secrets");

  const get = subcommand("get", "print keys with their revisions and decoded values")
    .argument("[prefix]", "beginning of the keys; without a slash in front it is below /registry/", "/registry/")
    .option("--keys-only", "only keys and revisions")
    .option("--rev <revision>", "as of this revision of etcd, if it is not compacted", parseRevision)
    .option("--limit <count>", "the most keys to print; 0: all", parseRevision, 1000)
    .action(async (prefix: string, options: GetOptions & WhichEtcd) => {
      const { runGet } = await import("./get.js");
      await runGet(context, prefix, options);
    });
  addExamples(
    get,
    "kubelab etcd get pods/default/web",
    "kubelab etcd get --keys-only --etcd http://127.0.0.1:2379",
    "kubelab etcd get configmaps/default/ --rev 120 --json",
  );

  const watch = addDurationOption(subcommand("watch", "print each change of keys as a JSON patch, until Ctrl-C"))
    .argument("[prefix]", "beginning of the keys; without a slash in front it is below /registry/", "/registry/")
    .option("--from-rev <revision>", "begin with the changes of this revision (default: what comes now)", parseRevision)
    .action(async (prefix: string, options: WatchOptions & WhichEtcd) => {
      const { runWatch } = await import("./watch.js");
      await runWatch(context, prefix, options);
    });
  addExamples(watch, "kubelab etcd watch pods/", "kubelab etcd watch --from-rev 100 --duration 5s");

  const txn = subcommand("txn", "show the compare-and-put with which kube-apiserver writes; with --write, run it")
    .argument("[key]", "a key (default: that of the object in the file)")
    .option("-f, --filename <file>", "the object to put; - is stdin", parsePath)
    .option("--delete", "delete the key")
    .option(
      "--if-rev <revision>",
      "the mod_revision to compare with; 0: no such key (default: the current)",
      parseRevision,
    )
    .option("--write", "run it: this bypasses validation and admission of the cluster's API server")
    .action(async (key: string | undefined, options: TxnOptions & WhichEtcd) => {
      const { runTxn } = await import("./txn.js");
      await runTxn(context, key, options);
    });
  addExamples(
    txn,
    "kubelab etcd txn -f configmap.yaml",
    "kubelab etcd txn -f configmap.yaml --if-rev 120 --write",
    "kubelab etcd txn configmaps/default/a --delete --write",
  );
}

function parseRevision(text: string): number {
  const revision = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(revision)) return revision;
  throw new InvalidArgumentError("expected a whole number.");
}
