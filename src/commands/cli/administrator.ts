import type { ClientCtx } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import type { Target, TargetOptions } from "../../testbed/target/target.js";
import { numberSteps } from "../../trace/story/numbers.js";
import { chapterRule } from "../../trace/story/rules.js";
import { tellStory } from "../../trace/story/teller.js";
import { LabError } from "../../util/errors.js";
import type { CliContext } from "./context.js";

/** A command that acts on the cluster as its administrator. */
export interface AdministratorCommand {
  readonly command: string;
  readonly chapter: string;
  /** the question before writing to a real cluster; undefined for commands that only read */
  readonly question?: ((target: Target) => string) | undefined;
}

/**
 * Runs `body` with an administrator's client of the target, and closes both.
 * @throws LabError DECLINED if the user refuses writes to a real cluster
 */
export async function withAdministrator(
  context: CliContext,
  { command, chapter, question }: AdministratorCommand,
  options: TargetOptions & { readonly speed?: number },
  body: (deps: ClientCtx, target: Target) => Promise<void>,
): Promise<void> {
  await using target = await context.openTarget(command, options);
  if (question !== undefined && target.kind === "real") {
    if (!(await context.confirm(question(target), { yes: options.yes === true, flag: "--yes" }))) {
      const hint = "Use --yes to skip the question.";
      throw new LabError("DECLINED", "nothing was changed: you did not agree", hint);
    }
  }
  const { trace, clock } = context.session(options);
  const { random } = context;
  await using client = createClient(target.admin, { trace, clock, random, actor: "user" });
  numberSteps(trace, chapterRule(command));
  using _story = tellStory(trace, chapterRule(`kubelab ${command}`));
  await trace.chapter(chapter, () => trace.sequence(() => body({ client, clock, random, trace }, target)));
}
