import type { V1Container } from "../../staging/apimachinery/api/pod.js";
import { isAtLeast } from "../../util/release/facts.js";
import { type GoTypes, goJson, goString } from "./go-json.js";

/** The structs of a container, without fields newer than v1.25. Mirrors k8s.io/api/core/v1/types.go (Container). */
const CONTAINER_TYPES: GoTypes = {
  Container: [
    "name!",
    "image",
    "command",
    "args",
    "workingDir",
    "ports:ContainerPort",
    "envFrom:EnvFromSource",
    "env:EnvVar",
    "resources:=ResourceRequirements",
    "resizePolicy:ContainerResizePolicy",
    "restartPolicy*",
    "volumeMounts:VolumeMount",
    "volumeDevices:VolumeDevice",
    "livenessProbe*:Probe",
    "readinessProbe*:Probe",
    "startupProbe*:Probe",
    "lifecycle*:Lifecycle",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "imagePullPolicy",
    "securityContext*:SecurityContext",
    "stdin",
    "stdinOnce",
    "tty",
  ],
  ContainerPort: ["name", "hostPort", "containerPort!", "protocol", "hostIP"],
  ContainerResizePolicy: ["resourceName!", "restartPolicy!"],
  EnvFromSource: ["prefix", "configMapRef*:EnvSource", "secretRef*:EnvSource"],
  EnvSource: ["name", "optional*"],
  EnvVar: ["name!", "value", "valueFrom*:EnvVarSource"],
  EnvVarSource: [
    "fieldRef*:ObjectFieldSelector",
    "resourceFieldRef*:ResourceFieldSelector",
    "configMapKeyRef*:KeySelector",
    "secretKeyRef*:KeySelector",
  ],
  ObjectFieldSelector: ["apiVersion", "fieldPath!"],
  ResourceFieldSelector: ["containerName", "resource!", "divisor:quantity"],
  KeySelector: ["name", "key!", "optional*"],
  ResourceRequirements: ["limits:amounts", "requests:amounts", "claims:ResourceClaim"],
  ResourceClaim: ["name!", "request"],
  VolumeMount: ["name!", "readOnly", "recursiveReadOnly*", "mountPath!", "subPath", "mountPropagation*", "subPathExpr"],
  VolumeDevice: ["name!", "devicePath!"],
  Probe: [
    "exec*:ExecAction",
    "httpGet*:HTTPGetAction",
    "tcpSocket*:TCPSocketAction",
    "grpc*:GRPCAction",
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
    "terminationGracePeriodSeconds*",
  ],
  ExecAction: ["command"],
  HTTPGetAction: ["path", "port!", "host", "scheme", "httpHeaders:HTTPHeader"],
  HTTPHeader: ["name!", "value!"],
  TCPSocketAction: ["port!", "host"],
  GRPCAction: ["port!", "service!"],
  Lifecycle: ["postStart*:LifecycleHandler", "preStop*:LifecycleHandler"],
  LifecycleHandler: ["exec*:ExecAction", "httpGet*:HTTPGetAction", "tcpSocket*:TCPSocketAction", "sleep*:SleepAction"],
  SleepAction: ["seconds!"],
  SecurityContext: [
    "capabilities*:Capabilities",
    "privileged*",
    "seLinuxOptions*:SELinuxOptions",
    "windowsOptions*:WindowsOptions",
    "runAsUser*",
    "runAsGroup*",
    "runAsNonRoot*",
    "readOnlyRootFilesystem*",
    "allowPrivilegeEscalation*",
    "procMount*",
    "seccompProfile*:SeccompProfile",
    "appArmorProfile*:SeccompProfile",
  ],
  Capabilities: ["add", "drop"],
  SELinuxOptions: ["user", "role", "type", "level"],
  WindowsOptions: ["gmsaCredentialSpecName*", "gmsaCredentialSpec*", "runAsUserName*", "hostProcess*"],
  SeccompProfile: ["type!", "localhostProfile*"],
};

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * The hash of a container's spec: when it changes, the container is restarted. A real kubelet computes the same hash,
 * so that either kubelet can adopt the other's pods.
 *
 * Mirrors HashContainer in pkg/kubelet/container/helpers.go: from v1.31 on the name and the image only.
 * A 32 bit number. Cached per object: each sync of a pod needs it several times, and specs are immutable.
 */
export function hashContainer(container: V1Container, kubeVersion: string): number {
  const hashes = isAtLeast(kubeVersion, "1.31") ? nameAndImageHashes : wholeHashes;
  let hash = hashes.get(container);
  if (hash === undefined) {
    hash = deepHash(hashes === wholeHashes ? goJson(CONTAINER_TYPES, "Container", container) : nameAndImage(container));
    hashes.set(container, hash);
  }
  return hash;
}

const wholeHashes = new WeakMap<V1Container, number>();
const nameAndImageHashes = new WeakMap<V1Container, number>();

function nameAndImage({ name, image = "" }: V1Container): string {
  return `{"image":${goString(image)},"name":${goString(name)}}`;
}

function deepHash(json: string): number {
  return fnv32a(`([]uint8)[${Buffer.from(json).join(" ")}]`);
}

/** The hash of what spew prints of a value with %#v. Mirrors DeepHashObject in pkg/util/hash/hash.go (FNV-1a of 32 bits). */
export function fnv32a(printed: string): number {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(printed)) hash = Math.imul(hash ^ byte, FNV_PRIME) >>> 0;
  return hash;
}
