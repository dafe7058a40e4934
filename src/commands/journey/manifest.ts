import { parseYamlDocuments } from "../../apimachinery/yaml.js";
import type { ProcessContext } from "../../testbed/context.js";
import { SAMPLE_PODS } from "../../testbed/sample-pods.js";
import { LabError, messageOf } from "../../util/errors.js";
import { describeFileError } from "../../util/files.js";
import { pathFrom } from "../../util/paths.js";
import { readFileAtMost } from "../../util/read-at-most.js";
import { isRecord } from "../../util/records.js";

/** A pod as its user wrote it. */
export interface PodManifest {
  readonly namespace: string;
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const HINT = "Write pod/NAME, or name a manifest of one Pod: -f pod.yaml.";

/** @param word `pod/web` @throws LabError USAGE for another kind, or a word that is no name */
export function podFromWord(word: string): PodManifest {
  const [kind = "", name = "", ...rest] = word.split("/");
  if (!["pod", "pods", "po"].includes(kind) || rest.length > 0) {
    throw new LabError("USAGE", `the journey is that of a pod, not of ${JSON.stringify(word)}`, HINT);
  }
  if (!NAME.test(name) || name.length > 253) {
    throw new LabError("USAGE", `${JSON.stringify(name)} is not the name of a pod`, HINT);
  }
  const body = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: SAMPLE_PODS.get("nginx") };
  return { namespace: "default", name, body };
}

/** @throws LabError BAD_FILE for a file that cannot be read, or that is not the manifest of one Pod */
export async function podFromFile({ cwd, signal }: ProcessContext, file: string): Promise<PodManifest> {
  const bytes = await readFileAtMost(pathFrom(cwd, file), signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    if (cause instanceof LabError) throw cause;
    throw new LabError("BAD_FILE", `cannot read ${file}: ${describeFileError(cause)}`, HINT, { cause });
  });
  const documents = parsed(bytes.toString(), file).filter((one) => one !== null && one !== undefined);
  const [body] = documents;
  if (documents.length !== 1 || !isRecord(body)) {
    const what = documents.length === 1 ? "no object" : `${documents.length} objects`;
    throw new LabError("BAD_FILE", `${file} has ${what}, and a journey is that of one pod`, HINT);
  }
  const { kind, apiVersion, metadata } = body;
  if (kind !== "Pod" || apiVersion !== "v1") {
    const is = typeof kind === "string" ? `a ${kind} (${String(apiVersion)})` : "an object without a kind";
    throw new LabError("BAD_FILE", `${file} has ${is}, and a journey is that of a Pod (v1)`, HINT);
  }
  const { name, namespace = "default" } = isRecord(metadata) ? metadata : {};
  if (typeof name !== "string" || typeof namespace !== "string") {
    throw new LabError(
      "BAD_FILE",
      `the pod in ${file} has no name`,
      "Set metadata.name; generateName is not enough here.",
    );
  }
  return { namespace, name, body };
}

function parsed(text: string, file: string): readonly unknown[] {
  try {
    return parseYamlDocuments(text);
  } catch (cause) {
    throw new LabError("BAD_FILE", `${file} is not YAML: ${messageOf(cause)}`, HINT, { cause });
  }
}
