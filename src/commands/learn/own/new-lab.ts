import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileErrorMessage } from "../../../util/i18n/file-error.js";
import { formatMessage, LocalizedError } from "../../../util/i18n/message-error.js";
import { makeFolder } from "../../../util/os/files.js";
import { pathFrom } from "../../../util/os/paths.js";
import type { LearnContext } from "../context.js";

/** Set by the build, which puts the compiled content next to the bundle. */
declare const KUBELAB_COMPILED_CONTENT: boolean | undefined;

/** The template: a new lab replaces only its id. */
const TEMPLATE = new URL(
  typeof KUBELAB_COMPILED_CONTENT === "boolean" ? "templates/lab/" : "../../../../templates/lab/",
  import.meta.url,
);

/**
 * Writes a first lab of the learner's own, which can be played at once.
 * @throws LabError USAGE if the name gives no id; BAD_FILE if the folder is not empty or cannot be written
 */
export async function newLab({ context, say }: LearnContext, folder: string): Promise<void> {
  const path = pathFrom(context.cwd, folder);
  const id = basename(path).toLowerCase().replace(/^\d+-/, "");
  if (!/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(id)) {
    throw new LocalizedError("USAGE", say("newLabName", { folder }), say("newLabNameHint"));
  }
  const files = await filesOf(id);
  try {
    await makeFolder(path);
    if ((await readdir(path)).length > 0) {
      throw new LocalizedError("BAD_FILE", say("newLabTaken", { folder }), say("newLabTakenHint"));
    }
    for (const [name, text] of files) await writeFile(join(path, name), text);
  } catch (cause) {
    if (cause instanceof LocalizedError) throw cause;
    const message = say("fileUnwritable", { file: folder, why: formatMessage(fileErrorMessage(cause), say) });
    throw new LocalizedError("BAD_FILE", message, say("exportFolderHint"), { cause });
  }
  const word = folder.includes("/") ? folder : `./${folder}`;
  context.streams.stdout.write(`${say("newLabMade", { folder: word })}\n`);
}

async function filesOf(id: string): Promise<readonly (readonly [name: string, text: string])[]> {
  return Promise.all(
    (await readdir(TEMPLATE)).map(async (name) => {
      const text = await readFile(new URL(name, TEMPLATE), "utf8");
      return [name, text.replace(/^id: .*$/m, `id: ${id}`)] as const;
    }),
  );
}
