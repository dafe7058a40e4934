import { Argument, type Command } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** `kubelab completion SHELL`: a script that asks `kubelab __complete` at each TAB. */
export function addCompletionCommand(completion: Command, context: CliContext): void {
  completion
    .description(
      "Prints a script for your shell. It completes commands, flags and their values, labs, topics, images and files.",
    )
    .addArgument(new Argument("<shell>", "your shell").choices(SHELLS))
    .action(async (shell: (typeof SHELLS)[number]) => {
      const { SCRIPTS } = await import("./scripts.js");
      context.print({ text: SCRIPTS[shell], json: SCRIPTS[shell] });
    });
  addExamples(
    completion,
    "source <(kubelab completion bash)",
    "source <(kubelab completion zsh)",
    "kubelab completion fish > ~/.config/fish/completions/kubelab.fish",
  );
}
