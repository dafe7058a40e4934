import { LabError } from "../../../../util/errors.js";
import { shellWord } from "../../../../util/text/shell-word.js";

/**
 * A log that is not as it was written.
 * @param offset of the first line that cannot be read
 * @param isLast a log with a successor cannot be cut: what follows needs it
 */
export function damagedLog(path: string, offset: number, why: string, isLast: boolean): LabError {
  const what = `is damaged at byte ${offset}: ${why}`;
  if (!isLast) return unusable(path, what);
  const cut = `truncate -s ${offset} ${shellWord(path)}`;
  const hint = `Bring back a copy of the folder. This keeps what comes before the damage, and loses all later changes: ${cut}`;
  return new LabError("BAD_FILE", `${path} ${what}`, hint);
}

/** A file without which the folder cannot be used. */
export function unusable(path: string, what: string): LabError {
  return new LabError(
    "BAD_FILE",
    `${path} ${what}`,
    "Bring back a copy of the folder, or begin a new cluster in another.",
  );
}
