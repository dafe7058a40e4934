import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Say } from "../../../util/i18n/catalogue.js";
import { parseChecked } from "./checked-yaml.js";
import type { LabProblem } from "./compile.js";

const inLanguages = z.strictObject({ en: z.string().min(1), zh: z.string().min(1) });

const path = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]+$/),
  /** ids of labs, in order */
  labs: z.array(z.string()).min(1),
  title: inLanguages,
  /** one line for lists */
  about: inLanguages,
  /** Markdown, shown when all its labs are done */
  page: inLanguages,
});

/** A way through the labs that serves one goal. */
export type LabPath = z.infer<typeof path>;

/**
 * Reads the file of paths. @param known ids of all labs
 * @throws the file system's error
 */
export async function compilePaths(
  file: string,
  known: readonly string[],
  say: Say,
): Promise<{ readonly paths: readonly LabPath[]; readonly problems: readonly LabProblem[] }> {
  const { value = [], problems, lineOf } = parseChecked(await readFile(file, "utf8"), z.array(path), say);
  const unknown = value.flatMap(({ labs }, i) =>
    labs
      .filter((id) => !known.includes(id))
      .map((id) => ({ line: lineOf([i, "labs"]), message: say("noLab", { id }) })),
  );
  return { paths: value, problems: [...problems, ...unknown].map((one) => ({ file, ...one })) };
}
