import { MessageError } from "../../../util/i18n/message-error.js";
import { visit } from "../builder.js";
import { readObjects } from "../files.js";
import { isOn, type KubectlLine, text, texts } from "../flags.js";
import { lineError } from "../line-error.js";
import { checkFormat, objectText } from "../output.js";
import type { Session } from "../session.js";
import { sendPatch } from "./patch.js";

const isPair = (word: string) => /^[^=]+=/.test(word) || word.endsWith("-");

/**
 * `label`, `annotate`: `key=value`, `key-`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/label/label.go (RunLabel, validateNoOverwrites).
 * @throws LabError FAILED if a key has another value, and the line has no `--overwrite`
 */
export async function mark(session: Session, line: KubectlLine, field: "labels" | "annotations"): Promise<void> {
  const pairs = line.words.filter(isPair).map((word): [string, string | null] => {
    const at = word.indexOf("=");
    return at < 0 ? [word.slice(0, -1), null] : [word.slice(0, at), word.slice(at + 1)];
  });
  const words = line.words.filter((word) => !isPair(word));
  if (words.length > 0 && pairs.length === 0) {
    throw lineError(line.verb, `at least one ${field.slice(0, -1)} update is required`);
  }
  const given = Object.fromEntries(pairs);
  checkFormat(line);
  if (isOn(line, "local")) {
    const [object] = await readObjects(session.context, texts(line, "filename"));
    const metadata = { ...object?.metadata, [field]: { ...object?.metadata?.[field], ...given } };
    return session.print(objectText({ ...object, metadata }, text(line, "output") ?? "yaml", []));
  }
  await visit(session, line, words, async (info) => {
    const before = info.object.metadata[field] ?? {};
    for (const [key, value] of isOn(line, "overwrite") ? [] : pairs) {
      if (value === null || before[key] === undefined || before[key] === value) continue;
      const clash = `'${key}' already has a value (${before[key]})`;
      const problem =
        field === "labels"
          ? `${clash}, and --overwrite is false`
          : `--overwrite is false but found the following declared annotation(s): ${clash}`;
      throw new MessageError("FAILED", { verbatim: problem }, ["kubectlOverwriteHint"]);
    }
    for (const [key, value] of pairs) {
      if (value === null && before[key] === undefined) session.warn(`${field.slice(0, -1)} "${key}" not found.`);
    }
    const body = { metadata: { [field]: given } };
    const done = field === "labels" ? labeled(pairs, before) : "annotated";
    await sendPatch(session, line, info, body, "application/merge-patch+json", () => done);
  });
}

/** Mirrors updateDataChangeMsg and its callers. */
function labeled(
  pairs: readonly (readonly [string, string | null])[],
  before: Readonly<Record<string, string>>,
): string {
  const changed = pairs.filter(([key, value]) => (before[key] ?? null) !== value);
  if (changed.length === 0) return "not labeled";
  return changed.every(([, value]) => value === null) ? "unlabeled" : "labeled";
}
