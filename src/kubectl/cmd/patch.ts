import { sameJson } from "../../apimachinery/same-json.js";
import { parseYaml } from "../../apimachinery/yaml.js";
import type { PatchType } from "../../client-go/rest/client.js";
import { isRecord } from "../../util/records.js";
import { type Info, visit } from "../builder.js";
import { readDocument } from "../files.js";
import { type KubectlLine, text, unknown } from "../flags.js";
import { nameOf } from "../resources.js";
import type { Session } from "../session.js";

const TYPES: Readonly<Record<string, PatchType>> = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
};

/**
 * `kubectl patch KIND NAME -p PATCH [--type T] [--subresource S]`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/patch/patch.go (RunPatch).
 */
export async function patch(session: Session, line: KubectlLine): Promise<void> {
  const contentType = TYPES[text(line, "type") ?? "strategic"];
  const file = text(line, "patch-file");
  const given = text(line, "patch");
  if (contentType === undefined) throw unknown(`--type ${text(line, "type")}`);
  if (given === undefined && file === undefined) throw unknown("--patch, --patch-file", "kubectlNeedsValue");
  const body = file === undefined ? parseYaml(given ?? "") : await readDocument(session.context, file);
  const subresource = text(line, "subresource");
  await visit(session, line, line.words, async (info) => {
    const path = subresource === undefined ? info.path : `${info.path}/${subresource}`;
    await sendPatch(session, { ...info, path }, body, contentType, "patched");
  });
}

/** Sends one patch and prints what became of it: `pod/web patched`, or `(no change)`. */
export async function sendPatch(
  session: Session,
  { known, name, path, object }: Info,
  body: unknown,
  contentType: PatchType,
  done: string,
): Promise<void> {
  const query = { fieldManager: "kubectl-patch" };
  const { client, signal } = session;
  const patched = await client.expect({ method: "PATCH", path, query, body, contentType, signal });
  const isSame = isRecord(patched) && sameJson(patched["metadata"], object.metadata) && done === "patched";
  session.print(`${nameOf(known, name)} ${done}${isSame ? " (no change)" : ""}\n`);
}
