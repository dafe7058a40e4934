import {
  isDns1123Label,
  isDns1123Subdomain,
  isEnvVarName,
  isLabelValue,
  isQualifiedName,
} from "../../apimachinery/api/names.js";
import { RpcError } from "../../cri/status.js";
import { parseReference } from "../images/reference.js";
import { count, listOf, needed, oneOf, text, textMap, texts } from "./fields.js";
import { LABELS } from "./labels.js";

const MAX_UINT32 = 2 ** 32 - 1;
/** containerd's identifiers package (identifierPattern, maxLength); IDs name folders. */
const IDENTIFIER = /^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/;
const MAX_IDENTIFIER_LENGTH = 76;
/** A file system's limit for a name; a kubelet's folder of a pod is named after its uid. */
const MAX_UID_BYTES = 255;

function isIdentifier(id: string): readonly string[] {
  if (id.length > MAX_IDENTIFIER_LENGTH) return [`must be no more than ${MAX_IDENTIFIER_LENGTH} characters`];
  return IDENTIFIER.test(id) ? [] : ["must consist of letters and digits, with single '.', '_' or '-' between them"];
}

/** Upstream asks for no form, as static pods have a hash for a uid; it becomes a part of paths all the same. */
function isUid(uid: string): readonly string[] {
  if (uid === "") return ["must not be empty"];
  if (uid === "." || uid === "..") return ["must not be '.' or '..'"];
  if (Buffer.byteLength(uid) > MAX_UID_BYTES) return [`must be no more than ${MAX_UID_BYTES} bytes`];
  return /[/\\\s\p{Cc}]/u.test(uid) ? ["must not contain slashes, blanks or control characters"] : [];
}

function isImage(name: string): readonly string[] {
  try {
    parseReference(name);
    return [];
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return [error.message];
  }
}

function isAbsolutePath(path: string): readonly string[] {
  return path.startsWith("/") && !path.includes("\0") ? [] : ["must be an absolute path"];
}

function isFree(): readonly string[] {
  return [];
}

/** Mirrors ValidateAnnotations in k8s.io/apimachinery/pkg/api/validation/objectmeta.go: upper case is let through. */
function isAnnotationKey(key: string): readonly string[] {
  return isQualifiedName(key.toLowerCase());
}

function isLabelKey(key: string): readonly string[] {
  return Object.values<string>(LABELS).includes(key)
    ? ["the pod gets this label from what it is called"]
    : isQualifiedName(key);
}

const ATTEMPT = count("how many there were before it; default: 0", 0, MAX_UINT32);
const ANNOTATIONS = textMap("its annotations", isAnnotationKey, isFree);

/** What a container may be made of: those of `ContainerSeed`. */
export const CONTAINER_FIELDS = {
  name: needed(text("its name in the pod, a DNS-1123 label", isDns1123Label)),
  image: needed(text("its image, which is there at once", isImage)),
  id: text("its ID; default: made up", isIdentifier),
  attempt: ATTEMPT,
  command: texts("what it runs; default: its image's entrypoint"),
  args: texts("arguments; default: its image's"),
  env: textMap("its environment, beside its image's", isEnvVarName, isFree),
  annotations: ANNOTATIONS,
  logPath: text("its log, below the sandbox's logDirectory; default: none"),
  state: oneOf("how it begins; default: running", ["created", "running"]),
} as const;

/** What a pod may be made of: those of `PodSeed`. */
export const POD_FIELDS = {
  name: needed(text("the pod's name, a DNS-1123 subdomain", isDns1123Subdomain)),
  namespace: needed(text("its namespace, a DNS-1123 label", isDns1123Label)),
  uid: needed(text("its uid, of any form that a folder's name may have", isUid)),
  attempt: ATTEMPT,
  labels: textMap("its labels, beside those that a kubelet gives", isLabelKey, isLabelValue),
  annotations: ANNOTATIONS,
  sandboxId: text("its sandbox's ID; default: made up", isIdentifier),
  hostname: text("its host name, a DNS-1123 label; default: its name", isDns1123Label),
  logDirectory: text("where its containers' logs go, an absolute path; default: nowhere", isAbsolutePath),
  containers: listOf("its containers, as for POST /sandboxes/ID/containers; default: none", CONTAINER_FIELDS),
} as const;
