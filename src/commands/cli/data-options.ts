import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { type DiskConfig, FSYNC_POLICIES, type FsyncPolicy } from "../../cluster/apiserver/storage/disk/config.js";
import { LabError } from "../../util/errors.js";
import { parsePath } from "./options.js";

/** The flags of a cluster that is kept in a folder. */
export interface DataOptions {
  readonly data?: string;
  readonly dataFsync?: FsyncPolicy;
}

export function addDataOptions(command: Command): Command {
  return command
    .option("--data <folder>", "keep the cluster in this folder, and continue the one that it has", parsePath)
    .addOption(
      new Option(
        "--data-fsync <policy>",
        "answer a write after an fsync that it shares with others (batch), after its own (always), or after none (never); default: batch",
      ).choices(FSYNC_POLICIES),
    );
}

/** undefined without --data. @throws LabError USAGE for --data-fsync without --data, or for --data with --etcd */
export function dataConfig({
  data,
  dataFsync,
  etcd,
}: DataOptions & { readonly etcd?: string }): DiskConfig | undefined {
  if (data === undefined) {
    if (dataFsync === undefined) return undefined;
    throw new LabError("USAGE", "--data-fsync needs --data", "Name the cluster's folder with --data DIR.");
  }
  if (etcd === undefined) return { folder: resolve(data), fsync: dataFsync ?? "batch" };
  throw new LabError("USAGE", "--data and --etcd are two places for one cluster", "Leave out one of them.");
}

/** The flags that give a child process the same options. */
export function dataFlags({ data, dataFsync }: DataOptions): string[] {
  if (data === undefined) return [];
  return ["--data", resolve(data), ...(dataFsync === undefined ? [] : ["--data-fsync", dataFsync])];
}
