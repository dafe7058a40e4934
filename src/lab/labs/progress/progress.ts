import { rename } from "node:fs/promises";
import { defined } from "../../../util/defined.js";
import type { LabError } from "../../../util/errors.js";
import { fileErrorMessage } from "../../../util/i18n/file-error.js";
import { MessageError } from "../../../util/i18n/message-error.js";
import { writeFileAtomic } from "../../../util/os/files.js";
import { readRegularFile } from "../../../util/os/read-at-most.js";
import type { LabSummary } from "../format/library.js";
import { betterExam, betterOf, type ExamResult, isExamResult, isLabResult, type LabRun } from "./result.js";
import { isTodayResults, type TodayResults } from "./today.js";

/** A learner's progress in one lab. */
export interface LabProgress extends LabRun {
  /** version of the lab's definition at the start; another version counts as not started */
  readonly revision: number;
  /** seed of the lab's values; each new start gets another */
  readonly seed: number;
  /** Unix ms */
  readonly startedAtMs: number;
  /** the best exam */
  readonly exam?: ExamResult;
  /** of a lab of the learner's own */
  readonly folder?: string;
  /** the release that the learner has chosen and the lab continues with; absent: the lab's own */
  readonly kubeVersion?: string;
}

export interface Progress {
  readonly version: 1;
  readonly labs: Readonly<Record<string, LabProgress>>;
  readonly today?: TodayResults;
}

export const EMPTY_PROGRESS: Progress = { version: 1, labs: {} };

/** The progress in this lab; undefined if it was not begun, or has changed since. */
export function progressIn(
  { id, revision }: Pick<LabSummary, "id" | "revision">,
  { labs }: Progress,
): LabProgress | undefined {
  const found = labs[id];
  return found?.revision === revision ? found : undefined;
}

const KNOWN_VERSION = 1;

export interface LoadedProgress {
  readonly progress: Progress;
  /** path to which an unreadable file was moved */
  readonly keptAs?: string;
}

/**
 * Reads the progress file. A missing file means no progress; a broken file is moved aside.
 * @throws LabError BAD_FILE for a file of a newer version, which stays unchanged
 */
export async function loadProgress(file: string, nowMs: number): Promise<LoadedProgress> {
  let text: string;
  try {
    text = await readRegularFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { progress: EMPTY_PROGRESS };
    throw unreadable(file, error);
  }
  const parsed = parseProgress(text);
  if (parsed.kind === "ok") return { progress: parsed.progress };
  if (parsed.kind === "newer") throw newer(file, parsed.version);
  const keptAs = `${file}.broken-${nowMs}`;
  await rename(file, keptAs);
  return { progress: EMPTY_PROGRESS, keptAs };
}

export type ParsedProgress =
  | { readonly kind: "ok"; readonly progress: Progress }
  | { readonly kind: "newer"; readonly version: number }
  | { readonly kind: "broken" };

/** Parses a progress file or an export. Pure. */
export function parseProgress(text: string): ParsedProgress {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "broken" };
  }
  const { version, labs, today } = (value ?? {}) as { version?: unknown; labs?: unknown; today?: unknown };
  if (typeof version === "number" && version > KNOWN_VERSION) return { kind: "newer", version };
  if (version !== KNOWN_VERSION || typeof labs !== "object" || labs === null) return { kind: "broken" };
  const entries = Object.entries(labs);
  if (!entries.every(([, one]) => isLabProgress(one))) return { kind: "broken" };
  if (today !== undefined && !isTodayResults(today)) return { kind: "broken" };
  return { kind: "ok", progress: { version: 1, labs: Object.fromEntries(entries), ...defined({ today }) } };
}

function isLabProgress(value: unknown): value is LabProgress {
  const one = value as Partial<LabProgress> | null;
  return (
    typeof one === "object" &&
    one !== null &&
    [one.revision, one.seed, one.hints, one.rightPredictions, one.wrongPredictions, one.startedAtMs].every(
      (number) => typeof number === "number" && Number.isFinite(number),
    ) &&
    isStrings(one.done) &&
    (one.shown === undefined || isStrings(one.shown)) &&
    (one.wrong === undefined || isStrings(one.wrong)) &&
    (one.best === undefined || isLabResult(one.best)) &&
    (one.exam === undefined || isExamResult(one.exam)) &&
    (one.folder === undefined || typeof one.folder === "string") &&
    (one.kubeVersion === undefined || typeof one.kubeVersion === "string") &&
    (one.finishedAtMs === undefined || typeof one.finishedAtMs === "number")
  );
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** @throws LabError BAD_FILE */
export async function saveProgress(file: string, progress: Progress): Promise<void> {
  await writeFileAtomic(file, `${JSON.stringify(progress, null, 2)}\n`, { mode: 0o600 });
}

/** Merges two progress files: for each lab, the further progress, and the better of the best results and of the exams; for each day, ours. */
export function mergeProgress(ours: Progress, theirs: Progress): Progress {
  const labs: Record<string, LabProgress> = { ...ours.labs };
  for (const [id, other] of Object.entries(theirs.labs)) {
    const own = labs[id];
    const further = own === undefined || isFurther(other, own) ? other : own;
    const isSameLab = own?.revision === other.revision;
    const best = isSameLab ? betterOf(own.best, other.best) : further.best;
    const exam = isSameLab ? betterExam(own.exam, other.exam) : further.exam;
    labs[id] = { ...further, ...defined({ best, exam }) };
  }
  const today = ours.today ?? theirs.today;
  return { version: 1, labs, ...(today === undefined ? {} : { today: { ...theirs.today, ...ours.today } }) };
}

function isFurther(a: LabProgress, b: LabProgress): boolean {
  if (a.revision !== b.revision) return a.revision > b.revision;
  if ((a.finishedAtMs === undefined) !== (b.finishedAtMs === undefined)) return a.finishedAtMs !== undefined;
  return a.done.length > b.done.length;
}

export function newer(file: string, version: number): LabError {
  return new MessageError(
    "BAD_FILE",
    ["progressFileNewer", { file, found: version, known: KNOWN_VERSION }],
    ["progressFileNewerHint"],
  );
}

function unreadable(file: string, cause: unknown): LabError {
  return new MessageError("BAD_FILE", ["fileUnreadable", { file, why: fileErrorMessage(cause) }], ["stateFolderHint"], {
    cause,
  });
}
