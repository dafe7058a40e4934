import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { parseYamlDocuments } from "../../staging/apimachinery/yaml.js";
import { messageOf } from "../../util/errors.js";
import type { MessageKey } from "../../util/i18n/catalogue.js";
import { fileErrorMessage } from "../../util/i18n/file-error.js";
import { type Message, MessageError } from "../../util/i18n/message-error.js";
import { pathFrom } from "../../util/os/paths.js";
import { readAtMost, readFileAtMost } from "../../util/os/read-at-most.js";
import { isRecord } from "../../util/records.js";
import type { KubectlContext } from "./session.js";

type Reading = Pick<KubectlContext, "streams" | "cwd" | "signal">;

/** kubectl exits with 1 for an unreadable file or an unknown kind; kubelab's own commands report a usage error. */
export type Code = "FAILED" | "USAGE";

/** The objects in YAML files, also those in a List; `-` is stdin. @throws LabError with the code */
export async function readObjects(
  context: Reading,
  files: readonly string[],
  code: Code = "FAILED",
): Promise<readonly KubeObject[]> {
  const objects: KubeObject[] = [];
  for (const file of files) {
    for (const value of documentsOf(await readText(context, file, code), file, code)) {
      if (!isRecord(value)) continue;
      const isList = value["kind"] === "List" && Array.isArray(value["items"]);
      objects.push(...((isList ? value["items"] : [value]) as KubeObject[]));
    }
  }
  if (objects.length === 0) throw new MessageError(code, ["noObjects", { files: files.join(", ") }], ["noObjectsHint"]);
  return objects;
}

/** The first document of a file, of any form: a patch. @throws LabError FAILED */
export async function readDocument(context: Reading, file: string): Promise<unknown> {
  return documentsOf(await readText(context, file, "FAILED"), file, "FAILED")[0];
}

async function readText({ streams, cwd, signal }: Reading, file: string, code: Code): Promise<string> {
  try {
    const bytes = file === "-" ? readAtMost(streams.stdin) : readFileAtMost(pathFrom(cwd, file), signal);
    return (await bytes).toString();
  } catch (cause) {
    signal.throwIfAborted();
    throw unreadable(code, file, fileErrorMessage(cause), "nameAFile", cause);
  }
}

function documentsOf(content: string, file: string, code: Code): readonly unknown[] {
  try {
    return parseYamlDocuments(content);
  } catch (cause) {
    throw unreadable(code, file, { verbatim: messageOf(cause) }, "lookAtManifest", cause);
  }
}

function unreadable(code: Code, file: string, why: Message, hint: MessageKey, cause: unknown): MessageError {
  return new MessageError(code, ["pathUnreadable", { file, why }], [hint], { cause });
}
