import type { Command } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addPlainOptions, parsePath } from "../cli/options.js";
import { TRACE_ENDINGS } from "../cli/trace-endings.js";

interface ViewOptions {
  readonly json?: boolean;
  readonly page?: boolean;
}

/** `kubelab trace view | convert | explain | diff`: works with the file of --trace. */
export function addTraceCommand(trace: Command, context: CliContext): void {
  trace.description(
    "Reads traces that `--trace FILE.ndjson` wrote. Several files of one run, for example of `cluster up`, `node` and `exec` in three terminals, become one trace. `-` reads standard input.",
  );
  const subcommand = (name: string, description: string) =>
    addPlainOptions(trace.command(name).description(description));

  const view = subcommand("view", "walk through the causal trees on a terminal; print them elsewhere")
    .argument("<files...>", ".ndjson traces of one run; or one .html page, to open in a browser")
    .option(
      "--page",
      "write the page next to the first file, print its address, and open it in a browser if there is one",
    )
    .action(async (files: readonly string[], { json = false, page = false }: ViewOptions) => {
      const { runView, showPage, writePage } = await import("./view.js");
      const [file = ""] = files;
      if (files.length === 1 && file.endsWith(".html")) showPage(context, file, json);
      else if (page) await writePage(context, files, json);
      else await runView(context, files, json);
    });
  addExamples(view, "kubelab trace view run.ndjson", "kubelab trace view cluster.ndjson node.ndjson | less -S");

  const convert = subcommand("convert", "merge traces, and write them in any format")
    .argument("<files...>", ".ndjson traces")
    .requiredOption("-o, --output <file>", `the ending chooses the format: ${TRACE_ENDINGS}`, parsePath)
    .action(async (files: readonly string[], { output }: { readonly output: string }) => {
      await (await import("./convert.js")).runConvert(context, files, output);
    });
  addExamples(
    convert,
    "kubelab trace convert run.ndjson -o run.json",
    "kubelab trace convert cluster.ndjson node.ndjson exec.ndjson -o run.ndjson",
  );

  const explain = subcommand("explain", "print the chain of causes of a fact or an object")
    .argument("<file>", "a .ndjson trace; further ones may follow")
    .argument(
      "[what...]",
      "the id of a fact, an object (pod/web), or a part of a fact's text (default: the longest chain)",
    )
    .action(async (file: string, words: readonly string[]) => {
      const files = words.filter((word) => word.endsWith(".ndjson"));
      const what = words.filter((word) => !word.endsWith(".ndjson")).join(" ");
      const { runExplain } = await import("./explain.js");
      await runExplain(context, [file, ...files], what === "" ? undefined : what);
    });
  addExamples(
    explain,
    "kubelab trace explain run.ndjson pod/web",
    "kubelab trace explain run.ndjson 'renew the lease'",
  );

  const diff = subcommand("diff", "compare two runs: what happened, in which order, how long it took")
    .argument("<a>", "the .ndjson trace of one run")
    .argument("<b>", "that of the other one")
    .option("--all", "list every difference")
    .action(async (a: string, b: string, { all = false }: { readonly all?: boolean }) => {
      await (await import("./diff.js")).runDiff(context, a, b, all);
    });
  addExamples(
    diff,
    "kubelab trace diff embedded.ndjson real.ndjson",
    "kubelab trace diff before.ndjson after.ndjson --all",
  );
}
