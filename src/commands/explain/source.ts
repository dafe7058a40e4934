import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import type { Command } from "commander";
import { LabError } from "../../util/errors.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addPlainOptions } from "../cli/options.js";

/** Set in the bundled program: the file next to it with the source. */
declare const KUBELAB_SOURCES: string | undefined;

/** `kubelab source [NAME]`: the source of a chapter, to read next to upstream's. */
export function addSourceCommand(source: Command, context: CliContext): void {
  source
    .description(
      "Prints the source of a chapter: a folder (pleg), a file (pleg/generic, src/util/clock.ts), or what mirrors a file of Kubernetes (pkg/kubelet/pleg/generic.go) or a function (Relist). Without a name it lists the chapters of the kubelet.",
    )
    .argument("[name]", "a folder, a file, or a file or function of Kubernetes");
  addPlainOptions(source).action(async (name: string | undefined) => {
    const [sources, { chapterList, sourceResult }] = await Promise.all([readSources(), import("./chapters.js")]);
    context.print(name === undefined ? chapterList(sources) : sourceResult(sources, name));
  });
  addExamples(
    source,
    "kubelab source",
    "kubelab source pleg | less",
    "kubelab source pleg/generic",
    "kubelab source pkg/kubelet/eviction/helpers.go",
    "kubelab source GuaranteedUpdate",
  );
}

/** The source of this program, by path. @throws LabError FAILED for a program that runs from it */
export async function readSources(): Promise<Readonly<Record<string, string>>> {
  if (typeof KUBELAB_SOURCES !== "string") {
    throw new LabError("FAILED", "this program has no copy of its source: it runs from it", "Read src/.");
  }
  const packed = await readFile(new URL(KUBELAB_SOURCES, import.meta.url));
  return JSON.parse(String(await promisify(brotliDecompress)(packed))) as Readonly<Record<string, string>>;
}
