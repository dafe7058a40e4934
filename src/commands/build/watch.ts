import { watch } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { ChildAbort } from "../../util/async/abort.js";
import { Waker } from "../../util/async/waker.js";
import type { CliContext } from "../cli/context.js";
import { judgeAndPrint, LiveOnDemand } from "./check.js";
import type { BuildFlags } from "./flags.js";
import { type BuildContext, findWork, openBuild, type Work } from "./open.js";
import { COMMAND_WORDS } from "./words.js";

/** Editors write a file in several steps. */
const SETTLE_MS = 50;

/** `kubelab build watch [FILE]`: a verdict at once and after each save. @throws LabError BAD_FILE, USAGE */
export async function watchFile(context: CliContext, word: string | undefined, flags: BuildFlags): Promise<void> {
  const build = openBuild(context, flags);
  const work = await findWork(context, word);
  context.notice(COMMAND_WORDS[build.language].watching(work.name));
  const saved = new Waker();
  await Promise.all([saves(work.path, saved, context.signal), rounds(build, work, flags, saved)]);
}

async function rounds(build: BuildContext, work: Work, flags: BuildFlags, saved: Waker): Promise<never> {
  const { context, clock } = build;
  using live = new LiveOnDemand(build, work, true);
  for (;;) {
    saved.forget();
    using running = new ChildAbort(context.signal);
    const next = saved.wait(clock, undefined, context.signal).finally(() => running.abort());
    // An end of the command during the verdict ends that first.
    next.catch(() => {});
    try {
      const heading = () => ["", `${timeOf(clock.now())} ${work.name}`];
      await judgeAndPrint(build, work, flags, { signal: running.signal, live, heading });
    } catch (error) {
      // A save during the run: the next round judges it.
      if (context.signal.aborted || !running.signal.aborted) throw error;
    }
    await next;
    await clock.sleep(SETTLE_MS, context.signal);
  }
}

/** The learner's local time of day. */
function timeOf(ms: number): string {
  return new Date(ms).toLocaleTimeString("en-GB");
}

/** Editors replace a file or write it in place: its folder sees both. */
async function saves(path: string, saved: Waker, signal: AbortSignal): Promise<void> {
  const name = basename(path);
  for await (const { filename } of watch(dirname(path), { signal })) {
    if (filename === name) saved.wake();
  }
}
