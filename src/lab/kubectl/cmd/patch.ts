import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { sameJson } from "../../../staging/apimachinery/same-json.js";
import { parseYaml } from "../../../staging/apimachinery/yaml.js";
import type { PatchType } from "../../../staging/client-go/rest/client.js";
import { type Info, visit } from "../builder.js";
import { readDocument } from "../files.js";
import { type KubectlLine, text } from "../flags.js";
import { lineError } from "../line-error.js";
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
  if (contentType === undefined) {
    throw lineError(line.verb, `--type must be one of [json merge strategic], not "${text(line, "type")}"`);
  }
  if (given === undefined && file === undefined) {
    throw lineError(line.verb, "must specify --patch or --patch-file containing the contents of the patch");
  }
  const body = file === undefined ? parseYaml(given ?? "") : await readDocument(session.context, file);
  const subresource = text(line, "subresource");
  await visit(session, line, line.words, async (info) => {
    const path = subresource === undefined ? info.path : `${info.path}/${subresource}`;
    await sendPatch(session, line, { ...info, path }, body, contentType, ({ metadata }) =>
      sameJson(metadata, info.object.metadata) ? "patched (no change)" : "patched",
    );
  });
}

/**
 * Sends one patch, with the verb as field manager, and prints the result: `deployment.apps/web image updated`.
 * @param done the text about the changed object
 */
export async function sendPatch(
  session: Session,
  { verb }: KubectlLine,
  { known, name, path }: Info,
  body: unknown,
  contentType: PatchType,
  done: (patched: KubeObject) => string,
): Promise<void> {
  const query = { fieldManager: `kubectl-${verb.split(" ")[0]}` };
  const { client, signal } = session;
  const patched = await client.expect<KubeObject>({ method: "PATCH", path, query, body, contentType, signal });
  session.print(`${nameOf(known, name)} ${done(patched)}\n`);
}
