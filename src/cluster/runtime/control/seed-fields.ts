import { z } from "zod";
import {
  isAnnotationKey,
  isDns1123Label,
  isDns1123Subdomain,
  isEnvVarName,
  isLabelValue,
  isQualifiedName,
} from "../../../staging/apimachinery/api/names.js";
import { RpcError } from "../../../staging/cri/grpc/status.js";
import {
  CONTAINER_NAME_LABEL,
  POD_NAME_LABEL,
  POD_NAMESPACE_LABEL,
  POD_UID_LABEL,
} from "../../../staging/cri/labels.js";
import { parseReference } from "../images/reference.js";
import { checked, count } from "./fields.js";

const MAX_UINT32 = 2 ** 32 - 1;
/** containerd's identifiers package (identifierPattern, maxLength); IDs name folders. */
const IDENTIFIER = /^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/;
const MAX_IDENTIFIER_LENGTH = 76;
/** The limit of file systems for a name: the kubelet names a pod's folder after its uid. */
const MAX_UID_BYTES = 255;

function isIdentifier(id: string): readonly string[] {
  if (id.length > MAX_IDENTIFIER_LENGTH) return [`must be no more than ${MAX_IDENTIFIER_LENGTH} characters`];
  return IDENTIFIER.test(id) ? [] : ["must consist of letters and digits, with single '.', '_' or '-' between them"];
}

/** Upstream accepts any uid, because static pods have a hash for one. The uid becomes part of paths. */
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

const IDENTITY_LABELS: readonly string[] = [POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL, CONTAINER_NAME_LABEL];

function isLabelKey(key: string): readonly string[] {
  return IDENTITY_LABELS.includes(key)
    ? ["the pod gets this label from its name, namespace or uid"]
    : isQualifiedName(key);
}

const ATTEMPT = count(0, MAX_UINT32).describe("the number of attempts before it; default: 0").exactOptional();
const ANNOTATIONS = z.record(checked(isAnnotationKey), z.string()).describe("its annotations").exactOptional();

/** The fields of a `ContainerSeed`. */
export const CONTAINER_FIELDS = z.strictObject({
  name: checked(isDns1123Label).describe("its name in the pod, a DNS-1123 label"),
  image: checked(isImage).describe("its image, which is present at once"),
  id: checked(isIdentifier).describe("its ID; default: generated").exactOptional(),
  attempt: ATTEMPT,
  command: z.array(z.string()).describe("the command; default: the entrypoint of its image").exactOptional(),
  args: z.array(z.string()).describe("the arguments; default: those of its image").exactOptional(),
  env: z.record(checked(isEnvVarName), z.string()).describe("environment, added to its image's").exactOptional(),
  annotations: ANNOTATIONS,
  logPath: z.string().describe("its log, below the sandbox's logDirectory; default: none").exactOptional(),
  state: z.enum(["created", "running"]).describe("its first state; default: running").exactOptional(),
});

/** The fields of a `PodSeed`. */
export const POD_FIELDS = z.strictObject({
  name: checked(isDns1123Subdomain).describe("the pod's name, a DNS-1123 subdomain"),
  namespace: checked(isDns1123Label).describe("its namespace, a DNS-1123 label"),
  uid: checked(isUid).describe("its uid, any text that can be a folder's name"),
  attempt: ATTEMPT,
  labels: z
    .record(checked(isLabelKey), checked(isLabelValue))
    .describe("its labels, added to those that a kubelet sets")
    .exactOptional(),
  annotations: ANNOTATIONS,
  sandboxId: checked(isIdentifier).describe("its sandbox's ID; default: generated").exactOptional(),
  hostname: checked(isDns1123Label).describe("its host name, a DNS-1123 label; default: its name").exactOptional(),
  logDirectory: checked(isAbsolutePath)
    .describe("the folder of its containers' logs, an absolute path; default: no logs")
    .exactOptional(),
  containers: z
    .array(CONTAINER_FIELDS)
    .describe("its containers, as for POST /sandboxes/ID/containers; default: none")
    .exactOptional(),
});
