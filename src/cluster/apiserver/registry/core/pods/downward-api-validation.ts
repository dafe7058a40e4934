import type {
  V1DownwardAPIVolumeFile,
  V1EnvVarSource,
  V1KeyToPath,
  V1ObjectFieldSelector,
  V1ResourceFieldSelector,
  V1ServiceAccountTokenProjection,
  V1Volume,
  V1VolumeProjection,
} from "@kubernetes/client-node";
import { isQualifiedName } from "../../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { canonicalQuantity, isZeroQuantity } from "../../../../../staging/apimachinery/quantity.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../../util/records.js";
import { addErrors, forbidden, invalidValue, notSupported, required } from "../../rest/field-errors.js";

/** Mirrors the checks of downward API fields and of projected files in pkg/apis/core/validation/validation.go. */

const VOLUME_FIELDS = ["annotations", "labels", "name", "namespace", "uid"].map((name) => `metadata.${name}`);
const ENV_FIELDS = [
  ...["metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"],
  ...["status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"],
];
/** What a selector can name at all. Mirrors ConvertDownwardAPIFieldLabel in pkg/apis/core/pods/helpers.go. */
const FIELDS = [...VOLUME_FIELDS, ...ENV_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"];

const AMOUNTS = ["cpu", "ephemeral-storage", "memory"];
const RESOURCES = ["limits", "requests"].flatMap((kind) => AMOUNTS.map((name) => `${kind}.${name}`));
const CPU_DIVISORS = ["1m", "1"];
const BYTE_DIVISORS = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

const MAX_MODE = 0o777;
const MODE_PROBLEM = "must be a number between 0 and 0777 (octal), both inclusive";
const MIN_TOKEN_SECONDS = 10 * 60;
const MAX_TOKEN_SECONDS = 2 ** 32;

/** The references to the pod's own fields in a variable's `valueFrom`. Mirrors validateEnvVarValueFrom. */
export function validateEnvRefs(from: Wire<V1EnvVarSource>, path: string): FieldError[] {
  const { fieldRef, resourceFieldRef } = from;
  return [
    ...(fieldRef ? validateFieldRef(fieldRef, ENV_FIELDS, `${path}.fieldRef`) : []),
    ...(resourceFieldRef ? validateResourceRef(resourceFieldRef, `${path}.resourceFieldRef`, false) : []),
  ];
}

const FILE_SOURCES = ["secret", "configMap", "downwardAPI", "projected"] as const;

/**
 * The files that a volume is made of. Mirrors validateSecretVolumeSource, validateConfigMapVolumeSource,
 * validateDownwardAPIVolumeSource and validateProjectedVolumeSource.
 * @param path of the volume: `spec.volumes[0]`
 */
export function validateVolumeFiles(volume: Wire<V1Volume>, path: string): FieldError[] {
  const kind = FILE_SOURCES.find((one) => isSet(volume[one]));
  if (kind === undefined) return [];
  const { secret, configMap, downwardAPI, projected } = volume;
  const field = `${path}.${kind}`;
  const items = (kind === "secret" ? secret : kind === "configMap" ? configMap : undefined)?.items ?? [];
  return [
    ...modeErrors(volume[kind]?.defaultMode, `${field}.defaultMode`),
    ...items.flatMap((item, index) => validateKeyToPath(item, `${field}.items[${index}]`)),
    ...(kind === "downwardAPI" ? (downwardAPI?.items ?? []) : []).flatMap((file) => validateDownwardFile(file, field)),
    ...(kind === "projected" ? validateSources(projected?.sources ?? [], field) : []),
  ];
}

/** Mirrors validateProjectionSources. */
function validateSources(sources: readonly Wire<V1VolumeProjection>[], path: string): FieldError[] {
  const paths = new Set<string>();
  return sources.flatMap((source, index) => {
    const field = `${path}.sources[${index}]`;
    const errors: FieldError[] = [];
    const conflicts = (own: string, shown: string) => {
      if (own !== "" && paths.has(own)) errors.push(invalidValue(path, shown, "conflicting duplicate paths"));
      paths.add(own);
    };
    for (const kind of ["secret", "configMap"] as const) {
      const { name = "", items = [] } = source[kind] ?? { name: "-" };
      if (name === "") errors.push(required(`${field}.${kind}.name`));
      for (const [at, item] of items.entries()) {
        addErrors(errors, validateKeyToPath(item, `${field}.${kind}.items[${at}]`));
        conflicts(item.path, name);
      }
    }
    for (const file of source.downwardAPI?.items ?? []) {
      addErrors(errors, validateDownwardFile(file, `${field}.downwardAPI`));
      conflicts(file.path, file.path);
    }
    if (source.serviceAccountToken) addErrors(errors, validateToken(source.serviceAccountToken, path, field));
    if (Object.values(source).filter(isSet).length > 1) {
      errors.push(forbidden(field, "may not specify more than 1 volume type"));
    }
    return errors;
  });
}

function validateToken(token: Wire<V1ServiceAccountTokenProjection>, path: string, field: string): FieldError[] {
  const { expirationSeconds: seconds = MIN_TOKEN_SECONDS, path: file } = token;
  const at = `${field}.serviceAccountToken.expirationSeconds`;
  const errors: FieldError[] = [];
  if (seconds < MIN_TOKEN_SECONDS) {
    errors.push(invalidValue(at, seconds, "may not specify a duration less than 10 minutes"));
  }
  if (seconds > MAX_TOKEN_SECONDS) {
    errors.push(invalidValue(at, seconds, "may not specify a duration larger than 2^32 seconds"));
  }
  return file === "" ? [...errors, required(`${path}.path`)] : errors;
}

function validateKeyToPath({ key, path: file, mode }: Wire<V1KeyToPath>, path: string): FieldError[] {
  return [
    ...(key === "" ? [required(`${path}.key`)] : []),
    ...(file === "" ? [required(`${path}.path`)] : filePathErrors(file, `${path}.path`)),
    ...modeErrors(mode, `${path}.mode`),
  ];
}

/** The path of an error has no index, as upstream's. Mirrors validateDownwardAPIVolumeFile. */
function validateDownwardFile(file: Wire<V1DownwardAPIVolumeFile>, path: string): FieldError[] {
  const { fieldRef, resourceFieldRef, mode } = file;
  const errors = file.path === "" ? [required(`${path}.path`)] : filePathErrors(file.path, `${path}.path`);
  if (fieldRef) {
    addErrors(errors, validateFieldRef(fieldRef, VOLUME_FIELDS, `${path}.fieldRef`));
    const why = "fieldRef and resourceFieldRef can not be specified simultaneously";
    if (resourceFieldRef) errors.push(invalidValue(path, "resource", why));
  } else if (resourceFieldRef) {
    addErrors(errors, validateResourceRef(resourceFieldRef, `${path}.resourceFieldRef`, true));
  } else errors.push(required(path, "one of fieldRef and resourceFieldRef is required"));
  return [...errors, ...modeErrors(mode, `${path}.mode`)];
}

function modeErrors(mode: number | null | undefined, field: string): FieldError[] {
  return isSet(mode) && (mode < 0 || mode > MAX_MODE) ? [invalidValue(field, mode, MODE_PROBLEM)] : [];
}

/** Mirrors ValidateLocalNonReservedPath. */
function filePathErrors(file: string, field: string): FieldError[] {
  const errors: FieldError[] = [];
  if (file.startsWith("/")) errors.push(invalidValue(field, file, "must be a relative path"));
  if (file.split("/").includes("..")) errors.push(invalidValue(field, file, "must not contain '..'"));
  else if (file.startsWith("..")) errors.push(invalidValue(field, file, "must not start with '..'"));
  return errors;
}

/** Mirrors validateObjectFieldSelector. */
function validateFieldRef(ref: Wire<V1ObjectFieldSelector>, allowed: readonly string[], path: string): FieldError[] {
  const { fieldPath } = ref;
  if (!fieldPath) return [required(`${path}.fieldPath`)];
  const [, base, key = ""] = /^(.+)\['([^']*)'\]$/.exec(fieldPath) ?? [];
  if (base === "metadata.annotations" || base === "metadata.labels") {
    const name = base === "metadata.labels" ? key : key.toLowerCase();
    return isQualifiedName(name).map((one) => invalidValue(path, name, one));
  }
  if (!FIELDS.includes(fieldPath)) {
    const why = `error converting fieldPath: field label not supported: ${fieldPath}`;
    return [invalidValue(`${path}.fieldPath`, fieldPath, why)];
  }
  // status.hostIPs came later, and upstream's list of v1.25 lacks it.
  const shown = allowed.filter((one) => one !== "status.hostIPs").sort();
  return allowed.includes(fieldPath) ? [] : [notSupported(`${path}.fieldPath`, fieldPath, shown)];
}

/** Mirrors validateContainerResourceFieldSelector. */
function validateResourceRef(ref: Wire<V1ResourceFieldSelector>, path: string, isVolume: boolean): FieldError[] {
  const { containerName = "", resource, divisor } = ref;
  if (isVolume && containerName === "") return [required(`${path}.containerName`)];
  if (!resource) return [required(`${path}.resource`)];
  const name = /^(?:limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-)/.exec(resource)?.[1] ?? "";
  const isHuge = name === "hugepages-";
  if (!isHuge && !RESOURCES.includes(resource)) return [notSupported(`${path}.resource`, resource, RESOURCES)];
  const divisors = name === "cpu" ? CPU_DIVISORS : BYTE_DIVISORS;
  if (isZeroQuantity(divisor) || divisors.includes(canonicalQuantity(divisor) ?? "")) return [];
  const list = name === "cpu" ? divisors.join(" and ") : divisors.join(", ");
  const words = isHuge ? "hugepages" : name === "ephemeral-storage" ? "local ephemeral storage" : name;
  const why = `only divisor's values ${list} are supported with the ${words} resource`;
  return [invalidValue(`${path}.divisor`, resource, why)];
}
