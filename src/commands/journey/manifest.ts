import { parseYamlDocuments } from "../../staging/apimachinery/yaml.js";
import type { ProcessContext } from "../../testbed/context.js";
import { SAMPLE_PODS } from "../../testbed/fixtures/sample-pods.js";
import { LabError, messageOf } from "../../util/errors.js";
import { describeFileError } from "../../util/os/files.js";
import { pathFrom } from "../../util/os/paths.js";
import { readFileAtMost } from "../../util/os/read-at-most.js";
import { isRecord } from "../../util/records.js";

/** A pod or a Deployment as its user wrote it. */
export interface JourneyManifest {
  readonly kind: "Pod" | "Deployment";
  readonly namespace: string;
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
/** The hint for a word. It does not require a Pod or a Deployment in a file, because some commands accept other kinds there. */
const WORD_HINT = "Write pod/NAME or deployment/NAME, or name a manifest: -f pod.yaml.";
const HINT = "Write pod/NAME or deployment/NAME, or name a manifest of one Pod or Deployment: -f pod.yaml.";
const KINDS: Readonly<Record<string, JourneyManifest["kind"]>> = {
  pod: "Pod",
  pods: "Pod",
  po: "Pod",
  deployment: "Deployment",
  deployments: "Deployment",
  deploy: "Deployment",
};
const API_VERSIONS = { Pod: "v1", Deployment: "apps/v1" } as const;

/** @param word `pod/web`, `deployment/web` @throws LabError USAGE for another kind, or a word that is not a name */
export function manifestFromWord(word: string): JourneyManifest {
  const [kindWord = "", name = "", ...rest] = word.split("/");
  const kind = Object.hasOwn(KINDS, kindWord) ? KINDS[kindWord] : undefined;
  if (kind === undefined || rest.length > 0) {
    throw new LabError("USAGE", `${JSON.stringify(word)} names neither a pod nor a Deployment`, WORD_HINT);
  }
  if (name === "")
    throw new LabError("USAGE", `${JSON.stringify(word)} has no name: write ${kind.toLowerCase()}/NAME`, WORD_HINT);
  if (!NAME.test(name) || name.length > 253) {
    throw new LabError("USAGE", `${JSON.stringify(name)} is not the name of a ${kind}`, WORD_HINT);
  }
  const pod = SAMPLE_PODS.get("nginx");
  const labels = { app: name };
  const ofDeployment = {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: pod },
  };
  const spec = kind === "Pod" ? pod : ofDeployment;
  return { kind, namespace: "default", name, body: { apiVersion: API_VERSIONS[kind], kind, metadata: { name }, spec } };
}

/** @throws LabError BAD_FILE for a file that cannot be read, or that is not the manifest of one Pod or Deployment */
export async function manifestFromFile({ cwd, signal }: ProcessContext, file: string): Promise<JourneyManifest> {
  const bytes = await readFileAtMost(pathFrom(cwd, file), signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    if (cause instanceof LabError) throw cause;
    throw new LabError("BAD_FILE", `cannot read ${file}: ${describeFileError(cause)}`, HINT, { cause });
  });
  const documents = parsed(bytes.toString(), file).filter((one) => one !== null && one !== undefined);
  const [body] = documents;
  if (documents.length !== 1 || !isRecord(body)) {
    const what = documents.length === 1 ? "no object" : `${documents.length} objects`;
    throw new LabError("BAD_FILE", `${file} has ${what}, and a journey is that of one object`, HINT);
  }
  const { kind, apiVersion, metadata } = body;
  if ((kind !== "Pod" && kind !== "Deployment") || apiVersion !== API_VERSIONS[kind]) {
    const is = typeof kind === "string" ? `a ${kind} (${String(apiVersion)})` : "an object without a kind";
    throw new LabError(
      "BAD_FILE",
      `${file} has ${is}, and a journey is that of a Pod (v1) or Deployment (apps/v1)`,
      HINT,
    );
  }
  const { name, namespace = "default" } = isRecord(metadata) ? metadata : {};
  if (typeof name !== "string" || typeof namespace !== "string") {
    throw new LabError(
      "BAD_FILE",
      `the ${kind} in ${file} has no name`,
      "Set metadata.name; generateName is not enough here.",
    );
  }
  return { kind, namespace, name, body };
}

function parsed(text: string, file: string): readonly unknown[] {
  try {
    return parseYamlDocuments(text);
  } catch (cause) {
    throw new LabError("BAD_FILE", `${file} is not YAML: ${messageOf(cause)}`, HINT, { cause });
  }
}
