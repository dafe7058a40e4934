import { hasPrograms } from "../../lab/labs/environment/programs.js";
import type { Lab } from "../../lab/labs/format/lab.js";
import { makeLearnFolder } from "../../lab/labs/progress/progress-store.js";
import { defined } from "../../util/defined.js";
import { LocalizedError } from "../../util/i18n/message-error.js";
import { parseKubeVersion } from "../../util/release/facts.js";
import { type LearnContext, labNamed } from "./context.js";
import { embeddedOnly, type LearnFlags, realTarget } from "./flags.js";
import { agreeToCommands, findLabOrFolder } from "./own/own-lab.js";
import { resumeLines } from "./play/resume.js";
import type { UnattendedOptions } from "./play/unattended.js";
import { standingIn } from "./standing.js";
import { requireNotPlayed } from "./taken-lab.js";

/** `kubelab learn start`: at a terminal step by step, with `--yes` to its end, else in the background. @throws LabError USAGE */
export async function startLab(here: LearnContext, given: LearnFlags, word: string): Promise<void> {
  const { env, lab } = await findLabOrFolder(here, word);
  await requireNotPlayed(env, lab.id);
  const kubeVersion = given.kubeVersion === undefined ? undefined : parseKubeVersion(given.kubeVersion);
  const others = { ...embeddedOnly(given), ...defined({ kubeVersion }) };
  const target = realTarget(given);
  const flags = target === undefined ? others : { ...others, real: target };
  if (target !== undefined && kubeVersion !== undefined) {
    throw new LocalizedError("USAGE", env.say("releaseIsReal"), env.say("flagOfPlayHint"));
  }
  const onReal = target === undefined ? undefined : { target, lab: await mayBeReal(env, lab.id) };
  if (flags.yes === true && flags.detach === true) {
    throw new LocalizedError("USAGE", env.say("yesOrDetach"), env.say("twoReportsHint"));
  }
  const { canAsk } = await import("./play/prompt.js");
  if (flags.exam !== undefined && (flags.yes === true || flags.detach === true || !canAsk(env))) {
    throw new LocalizedError("USAGE", env.say("examNeedsTerminal"), env.say("examNeedsTerminalHint"));
  }
  await agreeToCommands(env, lab, flags.yes !== true && canAsk(env));
  if (flags.yes === true) {
    const { runUnattended } = await import("./play/unattended.js");
    const options: UnattendedOptions = flags.answers === undefined ? flags : { ...flags, answersFile: flags.answers };
    return runUnattended(env, lab, options);
  }
  if (flags.answers !== undefined) {
    throw new LocalizedError("USAGE", env.say("answersNeedYes"), env.say("answersNeedYesHint"));
  }
  if (flags.ui !== undefined && (flags.detach === true || !canAsk(env))) {
    throw new LocalizedError("USAGE", env.say("uiInBackground"), env.say("uiInBackgroundHint"));
  }
  if (onReal !== undefined && (flags.detach === true || !canAsk(env))) {
    const { needsTerminal } = await import("./play/unattended.js");
    throw needsTerminal(env, onReal.lab, onReal.target, canAsk(env));
  }
  if (flags.detach === true || !canAsk(env)) {
    const { startDetachedLab } = await import("../../lab/labs/session/detached/process.js");
    const { status } = await import("./operations.js");
    // An error of the state folder is reported before an error of a file in it.
    await makeLearnFolder(env.context.env);
    for (const line of resumeLines(lab, await env.store.of(lab), kubeVersion, env.say)) env.notice(line);
    await startDetachedLab(env, lab, flags, () => status(env));
    return env.notice(env.say("inBackground", { id: lab.id }));
  }
  const { playableNext, playLabs } = await import("./play.js");
  const { way, last } = await playLabs(env, lab, flags);
  const { exam: _once, ...forMenu } = others;
  if (way !== "menu") return;
  await (await import("./menu/menu.js")).runMenu(env, forMenu, (await playableNext(env, last))?.id);
}

/** @throws LabError USAGE if the lab needs the embedded cluster */
async function mayBeReal({ library, say, language }: LearnContext, id: string): Promise<Lab> {
  const lab = await library.load(id);
  if (lab === undefined) throw new LocalizedError("USAGE", say("noLab", { id }), say("noLabHint"));
  if (lab.definition.cluster === "any") return lab;
  throw (await import("../../lab/labs/environment/own/environment.js")).embeddedOnly(lab.definition, language, say);
}

/**
 * Starts the named incident, or with `--random` one that is not done yet, without naming it first.
 * @param word id or number of an incident; "": none
 * @throws LabError USAGE for neither or both, and for a lab that is not an incident
 */
export async function startIncident(env: LearnContext, flags: LearnFlags, word: string): Promise<void> {
  const { library, store, say, context } = env;
  if ((word !== "") === (flags.random === true))
    throw new LocalizedError("USAGE", say("incidentNeedsRandom"), say("incidentNeedsRandomHint"));
  if (word !== "") {
    const { id, kind } = labNamed(env, word);
    if (kind !== "incident") throw new LocalizedError("USAGE", say("noIncident", { id }), `kubelab learn start ${id}`);
    return await startLab(env, flags, id);
  }
  const progress = await store.load();
  const incidents = library.summaries.filter((lab) => lab.kind === "incident" && hasPrograms(lab, context));
  const open = incidents.filter((lab) => standingIn(lab, progress).state !== "done");
  const from = open.length === 0 ? incidents : open;
  const lab = from[Math.floor(context.random.float() * from.length)];
  if (lab === undefined) throw new LocalizedError("FAILED", say("noIncidents"), say("noLabHint"));
  await startLab(env, flags, lab.id);
}
