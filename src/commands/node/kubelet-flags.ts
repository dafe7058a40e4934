import { isIP } from "node:net";
import { type Command, InvalidArgumentError, Option } from "commander";
import { fieldType, type KubeletConfigurationFields } from "../../kubelet/apis/config/fields.js";
import { CONFIG_FLAGS } from "../../kubelet/apis/config/flags.js";
import { goDuration, parseGoDuration } from "../../staging/apimachinery/time.js";
import { LabError, messageOf } from "../../util/errors.js";
import { isRecord } from "../../util/records.js";
import { addAlias } from "../cli/options.js";
import { parseBoolean } from "./flags.js";

const CADVISOR = "There is no cAdvisor here: the usage of containers comes from the runtime.";
const KLOG = "kubelab writes its trace to stderr, with more at -v 2 and -v 3; --trace FILE keeps it.";
const LOGGING = "Formats are those of --trace FILE.ndjson, .json and .html.";
const CLOUD = "No cloud provider runs here: another client can set the labels and addresses of a Node.";
const CREDENTIALS = "Pull secrets of the pod (imagePullSecrets) and the runtime have the credentials of registries.";
const LOCK = "The node's folder (--root-dir) has a lock of its own, and a second kubelet is refused.";

/** The kubelet's flags that have no counterpart, with what to use instead. */
const ANSWERS: Readonly<Record<string, string>> = {
  ...answered(
    CADVISOR,
    `application-metrics-count-limit boot-id-file container-hints containerd containerd-namespace enable-load-reader
    event-storage-age-limit event-storage-event-limit global-housekeeping-interval housekeeping-interval log-cadvisor-usage
    machine-id-file storage-driver-buffer-duration storage-driver-db storage-driver-host storage-driver-password
    storage-driver-secure storage-driver-table storage-driver-user`,
  ),
  ...answered(
    KLOG,
    `add-dir-header alsologtostderr log-backtrace-at log-dir log-file log-file-max-size log-flush-frequency logtostderr one-output
    skip-headers skip-log-headers stderrthreshold vmodule`,
  ),
  ...answered(LOGGING, "log-json-info-buffer-size log-json-split-stream logging-format"),
  ...answered(CLOUD, "cloud-config cloud-provider"),
  ...answered(
    CREDENTIALS,
    "azure-container-registry-config image-credential-provider-bin-dir image-credential-provider-config",
  ),
  ...answered(LOCK, "exit-on-lock-contention lock-file"),
  "cert-dir": "The certificate is in the node's folder: --root-dir FOLDER.",
  "container-runtime": "Every runtime is a remote one: --cri ENDPOINT names it.",
  "experimental-allocatable-ignore-eviction": "Set evictionHard in --config: what it keeps is not allocatable.",
  "experimental-mounter-path": "Volumes are folders here, and nothing is mounted.",
  "image-service-endpoint": "The runtime of --cri pulls the images as well.",
  "keep-terminated-pod-volumes": "Volumes end with their pod; a hostPath volume stays.",
  "master-service-namespace": "The Service kubernetes is in the namespace default.",
  "node-ip": "Nodes have addresses of this machine's loopback or of the cluster's own network.",
  "pod-infra-container-image": "The runtime chooses the pause image, as of Kubernetes 1.24 with every runtime.",
  "register-schedulable": "Use --register-with-taints node.kubernetes.io/unschedulable:NoSchedule, or kubectl cordon.",
  "reserved-memory": "Set reservedMemory in a file: --config FILE.",
  "runtime-cgroups": "The runtime's processes are in no cgroup of the kubelet.",
};

function answered(answer: string, flags: string): Record<string, string> {
  return Object.fromEntries(flags.split(/\s+/).map((flag) => [flag, answer]));
}

/** Adds the flags of kubelet v1.25 that the command does not have yet. Its help does not list them. */
export function addKubeletFlags(command: Command): Command {
  addAlias(command, "--container-runtime-endpoint", "--cri");
  addAlias(command, "--pod-manifest-path", "--manifest-dir");
  const isFree = (flag: string) => !command.options.some(({ long }) => long === `--${flag}`);
  for (const [flag, path] of [...CONFIG_FLAGS].filter(([name]) => isFree(name))) {
    const isBoolean = fieldType(path) === "bool";
    const option = new Option(`--${flag} ${isBoolean ? "[boolean]" : "<value>"}`).argParser(fieldOf(path));
    command.addOption((isBoolean ? option.preset("true") : option).hideHelp());
  }
  for (const [flag, answer] of Object.entries(ANSWERS).filter(([name]) => isFree(name))) {
    const refuse = () => {
      throw new LabError("USAGE", `kubelab has no --${flag}, which is a flag of the kubelet`, answer);
    };
    command.addOption(new Option(`--${flag} [value]`).argParser(refuse).preset("").hideHelp());
  }
  return command;
}

/** The fields that the flags of `addKubeletFlags` set. @param options of the command */
export function kubeletFields(options: object): KubeletConfigurationFields {
  const fields = new Map([...CONFIG_FLAGS.keys()].map((flag) => [new Option(`--${flag}`).attributeName(), flag]));
  const given = Object.entries(options).flatMap(([name, value]) =>
    fields.has(name) && value instanceof Field ? [value] : [],
  );
  return given.reduce<KubeletConfigurationFields>((all, { fields }) => mergedFields(all, fields), {});
}

/** Maps whose entries flags set one by one; other maps are replaced, as upstream. */
const MERGED: ReadonlySet<string> = new Set(["authentication", "authorization", "featureGates"]);

/** Fields of a file, with those of flags in their place. */
export function mergedFields(
  below: KubeletConfigurationFields,
  above: KubeletConfigurationFields,
): KubeletConfigurationFields {
  const merged = (a: unknown, b: unknown): unknown => {
    if (!isRecord(a) || !isRecord(b)) return b;
    return { ...a, ...Object.fromEntries(Object.entries(b).map(([name, value]) => [name, merged(a[name], value)])) };
  };
  const known: Readonly<Record<string, unknown>> = below;
  const chosen = Object.entries(above).map(([name, value]) => [
    name,
    MERGED.has(name) ? merged(known[name], value) : value,
  ]);
  return { ...below, ...Object.fromEntries(chosen) };
}

/** The value of a flag: the field that it sets. */
class Field {
  constructor(readonly fields: KubeletConfigurationFields) {}
}

/** A parser of the flag of a field. A later value of a list or a map adds to an earlier one. */
function fieldOf(path: string): (text: string, before?: Field) => Field {
  const parse = parserOf(path);
  return (text, before) => {
    const names = path.split(".");
    const earlier = names.reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), before?.fields);
    const value = parse(text, earlier);
    return new Field(
      names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as KubeletConfigurationFields,
    );
  };
}

/** The value of a flag as its field has it. Mirrors the flag types of spf13/pflag and k8s.io/component-base/cli/flag. */
function parserOf(path: string): (text: string, before: unknown) => unknown {
  const type = fieldType(path);
  if (type === "bool") return parseBoolean;
  if (type === "int32" || type === "int64") return parseInteger;
  if (type === "duration") return parseDurationText;
  if (type === "[]string") return (text, before) => [...(Array.isArray(before) ? before : []), ...listed(text)];
  if (type.startsWith("map:")) return (text, before) => ({ ...(isRecord(before) ? before : {}), ...pairs(text, type) });
  return path === "address" || path === "healthzBindAddress" ? parseIp : (text) => text;
}

function listed(text: string): string[] {
  return text.split(",").filter((one) => one !== "");
}

function parseInteger(text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a whole number.");
}

function parseDurationText(text: string): string {
  try {
    return goDuration(parseGoDuration(text));
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}.`);
  }
}

function parseIp(text: string): string {
  if (isIP(text) !== 0) return text;
  throw new InvalidArgumentError("expected an IP address.");
}

function pairs(text: string, type: string): Record<string, unknown> {
  const isHeaders = type === "map:[]string";
  const separator = isHeaders ? ":" : "=";
  const found: Record<string, unknown> = {};
  for (const part of listed(text)) {
    const at = part.indexOf(separator);
    if (at < 1) throw new InvalidArgumentError(`${JSON.stringify(part)}: expected key${separator}value.`);
    const [key, value] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    const before = found[key];
    if (isHeaders) found[key] = [...(Array.isArray(before) ? before : []), value];
    else found[key] = type === "map:bool" ? parseBoolean(value) : value;
  }
  return found;
}
