import { LocalizedError } from "../../i18n/message-error.js";
import type { Lab } from "../../labs/lab.js";
import { type LearnContext, labNamed } from "./context.js";
import { embeddedOnly, type LearnFlags, realTarget } from "./flags.js";
import type { UnattendedOptions } from "./unattended.js";

/** `kubelab learn start`: at a terminal step by step, with `--yes` to its end, else in the background. @throws LabError USAGE */
export async function startLab(env: LearnContext, given: LearnFlags, word: string): Promise<void> {
  const lab = labNamed(env, word);
  const others = embeddedOnly(given);
  const target = realTarget(given);
  const flags = target === undefined ? others : { ...others, real: target };
  const onReal = target === undefined ? undefined : { target, lab: await mayBeReal(env, lab.id) };
  if (flags.yes === true && flags.detach === true) {
    throw new LocalizedError("USAGE", env.say("yesOrDetach"), env.say("twoReportsHint"));
  }
  if (flags.yes === true) {
    const { runUnattended } = await import("./unattended.js");
    const options: UnattendedOptions = flags.answers === undefined ? flags : { ...flags, answersFile: flags.answers };
    return runUnattended(env, lab, options);
  }
  if (flags.answers !== undefined) {
    throw new LocalizedError("USAGE", env.say("answersNeedYes"), env.say("answersNeedYesHint"));
  }
  const { canAsk } = await import("./prompt.js");
  if (flags.ui !== undefined && (flags.detach === true || !canAsk(env))) {
    throw new LocalizedError("USAGE", env.say("uiInBackground"), env.say("uiInBackgroundHint"));
  }
  if (onReal !== undefined && (flags.detach === true || !canAsk(env))) {
    const { needsTerminal } = await import("./unattended.js");
    throw needsTerminal(env, onReal.lab, onReal.target, canAsk(env));
  }
  if (flags.detach === true || !canAsk(env)) {
    const { startDetachedLab } = await import("../../labs/detached/process.js");
    const { status } = await import("./operations.js");
    await startDetachedLab(env, lab, flags, () => status(env));
    return env.context.notice(env.say("inBackground", { id: lab.id }));
  }
  const { playLabs } = await import("./play.js");
  const { way } = await playLabs(env, lab, flags);
  if (way === "menu") await (await import("./menu.js")).runMenu(env, others);
}

/** @throws LabError USAGE for a lab that needs the embedded cluster */
async function mayBeReal({ library, say, language }: LearnContext, id: string): Promise<Lab> {
  const lab = await library.load(id);
  if (lab === undefined) throw new LocalizedError("USAGE", say("noLab", { id }), say("noLabHint"));
  if (lab.definition.cluster === "any") return lab;
  throw (await import("../../labs/own/environment.js")).embeddedOnly(lab.definition, language, say);
}
