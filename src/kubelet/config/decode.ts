import { asPod, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { decodeText } from "../../staging/apimachinery/scheme/request.js";
import { messageOf } from "../../util/errors.js";
import { isRecord } from "../../util/records.js";

import { applyDefaults, type PodOrigin } from "./static-pod.js";
import { podTypeProblems } from "./type-problems.js";
import { validatePod } from "./validation.js";

type Fields = Readonly<Record<string, unknown>>;

const NO_NAMES = { name: "", namespace: "", uid: "" };

/** An invalid manifest; the message explains the reason to its author. */
class ManifestError extends Error {
  override readonly name = "ManifestError";
}

/**
 * Reads one pod from a manifest: YAML (the first document) or JSON.
 *
 * Mirrors tryDecodeSinglePod in pkg/kubelet/config/common.go.
 * @throws ManifestError
 */
export async function decodeSinglePod(text: string, origin: PodOrigin): Promise<V1Pod> {
  return podFrom(await parseManifest(text), origin);
}

/**
 * Reads one pod, or a list of pods. Mirrors tryDecodeSinglePod and, after it, tryDecodePodList.
 * @throws ManifestError also when one pod of a list cannot be used: then the whole list is rejected
 */
export async function decodePods(text: string, origin: PodOrigin): Promise<V1Pod[]> {
  const object = await parseManifest(text);
  const { kind, apiVersion, items } = object;
  if (apiVersion !== "v1" || (kind !== "PodList" && kind !== "List")) return [podFrom(object, origin)];
  if (!Array.isArray(items)) throw new ManifestError(`the ${kind} has no items`);
  const complete = (item: unknown) => (isRecord(item) ? { kind: "Pod", apiVersion: "v1", ...item } : item);
  return items.map((item) => podFrom(complete(item), origin));
}

async function parseManifest(text: string): Promise<Fields> {
  if (text.trim() === "") throw new ManifestError("it is empty");
  const object = await parseFirstDocument(text);
  if (!isRecord(object)) throw new ManifestError("couldn't parse as pod: it is not an object");
  return object;
}

async function parseFirstDocument(text: string): Promise<unknown> {
  try {
    if (/^\s*\{/.test(text)) return JSON.parse(text);
  } catch {
    // YAML can start with a brace too, but this message is better.
  }
  const { parseYamlDocuments } = await import("../../staging/apimachinery/yaml.js");
  let documents: readonly unknown[];
  try {
    documents = parseYamlDocuments(text);
  } catch (error) {
    throw new ManifestError(`couldn't parse as YAML: ${messageOf(error)}`);
  }
  if (documents.length === 0) throw new ManifestError("it is empty");
  return documents[0];
}

function podFrom(object: unknown, origin: PodOrigin): V1Pod {
  if (!isRecord(object)) throw new ManifestError("couldn't parse as pod: it is not an object");
  const { kind, apiVersion, metadata, spec } = object;
  if (apiVersion !== "v1" || kind !== "Pod") {
    throw new ManifestError(`invalid pod: want apiVersion v1, kind Pod; got ${String(apiVersion)}, ${String(kind)}`);
  }
  if (!isRecord(metadata) || !isRecord(spec)) throw new ManifestError("invalid pod: it needs metadata and a spec");
  const misshapen = podTypeProblems(object);
  if (misshapen.length > 0) throw new ManifestError(`invalid pod: ${misshapen.join(", ")}`);
  const named = { ...NO_NAMES, ...metadata };
  const pod = asPod({ ...object, apiVersion, kind, metadata: named, spec });
  if (pod === undefined) throw new ManifestError("invalid pod: name, namespace and uid must be strings");
  const problems = validatePod(pod);
  if (problems.length > 0) throw new ManifestError(`invalid pod: ${problems.join(", ")}`);
  return applyDefaults(setPodDefaults(pod), origin);
}

/**
 * Applies the API's defaults. A pod from a file or a URL never passes an API server, so the kubelet does it.
 * Mirrors legacyscheme.Codecs.UniversalDecoder in tryDecodeSinglePod. @throws ManifestError
 */
export function setPodDefaults(pod: V1Pod): V1Pod {
  const fail = (problem: string) => new ManifestError(`couldn't parse as pod: ${problem}`);
  const decoded = decodeText(JSON.stringify(pod), pod, "Pod", "Ignore", fail).object as V1Pod;
  // The decoder omits empty strings.
  return { ...decoded, metadata: { ...NO_NAMES, ...decoded.metadata } };
}
