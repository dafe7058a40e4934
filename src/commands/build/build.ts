import type { Command } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addPlainOptions } from "../cli/options.js";
import type { BuildFlags } from "./flags.js";

/** `kubelab build`: the learner writes parts of the kubelet, and each save is judged. */
export function addBuildCommand(build: Command, context: CliContext): void {
  addPlainOptions(build)
    .description(
      "You write a part of the kubelet in a file of JavaScript, and each save is judged: by tests in the order of its stages; for some tasks also by what upstream's code was recorded to do, then by a node that runs with your part. Without a subcommand it lists the tasks with your progress.",
    )
    .action(async () => (await import("./list.js")).listTasks(context, build.opts<BuildFlags>()));
  addExamples(build, "kubelab build", "kubelab build start phase", "kubelab build watch phase");
  // The parent takes the options that it shares with a subcommand, wherever they are in the line.
  const all = (flags: BuildFlags): BuildFlags => ({ ...flags, ...build.opts<BuildFlags>() });
  const add = (name: string, description: string) => addPlainOptions(build.command(name).description(description));
  add("start", "make a folder with the one file to write; nothing is overwritten")
    .argument("<task>", "its name or number")
    .argument("[folder]", "where the file will be (default: a folder with the task's name)")
    .action(async (task: string, folder: string | undefined, flags: BuildFlags) =>
      (await import("./start.js")).startTask(context, task, folder, all(flags)),
    );
  const where = "the file, or the folder that has it (default: this folder)";
  add("check", "judge the file once; exit code 1 if something is wrong")
    .argument("[file]", where)
    .option("--no-live", "without the run of a node with your part")
    .action(async (file: string | undefined, flags: BuildFlags) =>
      (await import("./check.js")).checkFile(context, file, all(flags)),
    );
  add("watch", "judge the file each time that it is saved, until Ctrl-C")
    .argument("[file]", where)
    .option("--no-live", "without the run of a node with your part")
    .action(async (file: string | undefined, flags: BuildFlags) =>
      (await import("./watch.js")).watchFile(context, file, all(flags)),
    );
  add("hint", "print the next hint for the first stage that does not pass; it costs 2 points of that stage")
    .argument("[file]", where)
    .action(async (file: string | undefined, flags: BuildFlags) =>
      (await import("./help.js")).printHint(context, file, all(flags)),
    );
  add("show", "print kubelab's own module, and where upstream's is; stages that do not pass yet then bring no points")
    .argument("<task>", "its name or number")
    .option("-y, --yes", "do not ask before the open stages lose their points")
    .action(async (task: string, flags: BuildFlags) => (await import("./help.js")).showOwn(context, task, all(flags)));
  add("reset", "forget the progress of a task; your file stays")
    .argument("<task>", "its name or number")
    .action(async (task: string, flags: BuildFlags) =>
      (await import("./help.js")).resetTask(context, task, all(flags)),
    );
  build
    .command("live", { hidden: true })
    .argument("<task>")
    .action(async (task: string) => (await import("./live-child.js")).runLiveChild(context, task));
}
