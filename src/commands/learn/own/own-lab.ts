import { stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { labFolderPrefix } from "../../../lab/labs/environment/orphaned-processes.js";
import { type LabSummary, summaryOf } from "../../../lab/labs/format/library.js";
import type { Progress } from "../../../lab/labs/progress/progress.js";
import { LabError } from "../../../util/errors.js";
import { LocalizedError } from "../../../util/i18n/message-error.js";
import { pathFrom } from "../../../util/os/paths.js";
import { type LearnContext, labNamed } from "../context.js";

/** A lab, and the environment whose library has it. */
export interface FoundLab {
  readonly env: LearnContext;
  readonly lab: LabSummary;
}

/**
 * A lab of kubelab by id or number, or a lab of the learner's own by its folder.
 * @throws LabError USAGE with the nearest name; FAILED for a lab with mistakes, which are printed; BAD_FILE
 */
export async function findLabOrFolder(env: LearnContext, word: string): Promise<FoundLab> {
  if (!(await isFolder(pathFrom(env.context.cwd, word), word))) return { env, lab: labNamed(env, word) };
  const { compiledFrom, printProblems } = await import("./check-labs.js");
  const [compiled, ...others] = await compiledFrom(env, word);
  const { say, library } = env;
  if (compiled === undefined || others.length > 0) {
    throw new LocalizedError("USAGE", say("folderOfOne", { folder: word }), say("folderOfOneHint"));
  }
  const own = compiled.lab;
  if (own === undefined) {
    printProblems(env, [compiled], "stderr");
    throw new LocalizedError(
      "FAILED",
      say("labsMistakes", { count: compiled.problems.length, good: 0 }),
      say("labsMistakesHint"),
    );
  }
  const { id } = own.definition;
  if (library.summaries.some((lab) => lab.id === id)) {
    throw new LocalizedError("USAGE", say("ownIdTaken", { id }), say("ownIdTakenHint"));
  }
  const lab = { ...summaryOf(own), folder: pathFrom(env.context.cwd, word) };
  const summaries = [...library.summaries, lab];
  const load = async (wanted: string) => (wanted === id ? own : library.load(wanted));
  return { env: env.withLibrary({ summaries, load }), lab };
}

/**
 * Says what a lab that kubelab does not ship can do, and asks before it is first played. Without a terminal it only says so.
 * @throws LabError DECLINED
 */
export async function agreeToCommands({ context, say, store, notice }: LearnContext, lab: LabSummary, asks: boolean) {
  const { folder } = lab;
  if (folder === undefined || (await store.of(lab)) !== undefined) return;
  const sentence = say("ownLabCommands", { folder, user: userName(context.env), below: labFolderPrefix() });
  if (!asks) return notice(sentence);
  if (await context.confirm(`${sentence} ${say("ownLabAsk")}`, { flag: "--yes" })) return;
  throw new LocalizedError("DECLINED", say("declined"), say("ownLabDeclined", { folder }));
}

function userName(env: Readonly<Record<string, string | undefined>>): string {
  try {
    return userInfo().username;
  } catch {
    return env["USER"] ?? "?"; // an ID without a row in /etc/passwd
  }
}

/** The labs of the learner's own that were begun, unless their folders are gone or have mistakes. */
export async function begunOwnLabs(env: LearnContext, { labs }: Progress): Promise<LabSummary[]> {
  const folders = Object.values(labs).flatMap(({ folder }) => folder ?? []);
  if (folders.length === 0) return [];
  const { compiledFrom } = await import("./check-labs.js");
  const found = await Promise.all(
    folders.map(async (folder) => {
      const [compiled] = await compiledFrom(env, folder).catch((error: unknown) => {
        if (error instanceof LabError) return [];
        throw error;
      });
      return compiled?.lab === undefined ? [] : [{ ...summaryOf(compiled.lab), folder }];
    }),
  );
  return found.flat();
}

/** The id of a begun lab of the learner's own, by its id or its folder, which may be gone. */
export function begunOwnLab({ context }: LearnContext, { labs }: Progress, word: string): string | undefined {
  const path = pathFrom(context.cwd, word);
  return Object.entries(labs).find(([id, { folder }]) => folder !== undefined && (id === word || folder === path))?.[0];
}

/** A word names a folder only if it has a slash or a dot, or if that folder exists. */
async function isFolder(path: string, word: string): Promise<boolean> {
  if (word === "") return false;
  if (word.includes("/") || word.startsWith(".")) return true;
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
