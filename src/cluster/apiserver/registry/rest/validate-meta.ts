import type { ObjectMeta, OwnerReference } from "../../../../staging/apimachinery/api/meta.js";
import {
  isAnnotationKey,
  isDns1123Label,
  isLabelValue,
  isQualifiedName,
} from "../../../../staging/apimachinery/api/names.js";
import { type FieldError, MAX_CAUSES } from "../../../../staging/apimachinery/errors.js";
import { sameJson } from "../../../../staging/apimachinery/same-json.js";
import { forbidden, type GoText, goValue, IMMUTABLE, invalidValue, required, tooLong } from "./field-errors.js";

/**
 * Rules that hold for every object's metadata.
 * Mirrors k8s.io/apimachinery/pkg/api/validation/objectmeta.go and pkg/apis/meta/v1/validation/validation.go.
 */

const MAX_ANNOTATION_BYTES = 256 * 1024;
export const FINALIZER_ORPHAN = "orphan";
export const FINALIZER_FOREGROUND = "foregroundDeletion";

type NameCheck = (name: string) => string[];

/** Mirrors ValidateObjectMetaAccessor. A generated name is already set. */
export function validateMeta(meta: ObjectMeta, isNamespaced: boolean, checkName: NameCheck): FieldError[] {
  const errors = validateNames(meta, checkName);
  return [
    ...errors,
    ...validateScope(meta, isNamespaced),
    ...validateParts(meta),
    ...validateFinalizers(meta.finalizers),
  ];
}

/** Checks name and generateName. */
export function validateNames({ name = "", generateName = "" }: ObjectMeta, checkName: NameCheck): FieldError[] {
  const errors =
    generateName === ""
      ? []
      : checkName(maskTrailingDash(generateName)).map((one) =>
          invalidValue("metadata.generateName", generateName, one),
        );
  if (name === "") return [...errors, required("metadata.name", "name or generateName is required")];
  return [...errors, ...checkName(name).map((one) => invalidValue("metadata.name", name, one))];
}

/** A generated name continues after the dash. */
function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name;
}

function validateScope({ namespace = "" }: ObjectMeta, isNamespaced: boolean): FieldError[] {
  if (!isNamespaced) return namespace === "" ? [] : [forbidden("metadata.namespace", "not allowed on this type")];
  if (namespace === "") return [required("metadata.namespace")];
  return isDns1123Label(namespace).map((one) => invalidValue("metadata.namespace", namespace, one));
}

function validateParts({ labels, annotations, ownerReferences }: ObjectMeta): FieldError[] {
  return [...validateLabels(labels), ...validateAnnotations(annotations), ...validateOwners(ownerReferences)];
}

/** Mirrors ValidateLabels. */
export function validateLabels(labels: ObjectMeta["labels"], field = "metadata.labels"): FieldError[] {
  const errors: FieldError[] = [];
  for (const key in labels) {
    const value = labels[key] ?? "";
    pushInvalid(errors, field, key, isQualifiedName(key));
    pushInvalid(errors, field, value, isLabelValue(value));
  }
  return errors;
}

/** What is not shown only counts: a request may have 300,000 of these errors, and each text takes time and memory. */
const NOT_SHOWN: FieldError = { type: "FieldValueInvalid", field: "", text: "" };

function pushInvalid(errors: FieldError[], field: string, value: string, messages: readonly string[]): void {
  for (const one of messages) errors.push(errors.length < MAX_CAUSES ? invalidValue(field, value, one) : NOT_SHOWN);
}

function validateAnnotations(annotations: ObjectMeta["annotations"]): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const key in annotations) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key] ?? "");
    pushInvalid(errors, "metadata.annotations", key, isAnnotationKey(key));
  }
  if (bytes > MAX_ANNOTATION_BYTES) errors.push(tooLong("metadata.annotations", MAX_ANNOTATION_BYTES));
  return errors;
}

function validateOwners(owners: readonly OwnerReference[] = []): FieldError[] {
  const field = "metadata.ownerReferences";
  const errors: FieldError[] = [];
  let controller = "";
  let all: GoText | undefined;
  for (const owner of owners) {
    const { apiVersion = "", kind = "", name = "", uid = "" } = owner;
    if (apiVersion === "" || apiVersion.endsWith("/"))
      errors.push(invalidValue(`${field}.apiVersion`, apiVersion, "version must not be empty"));
    if (kind === "") errors.push(invalidValue(`${field}.kind`, kind, "must not be empty"));
    if (name === "") errors.push(invalidValue(`${field}.name`, name, "must not be empty"));
    if (uid === "") errors.push(invalidValue(`${field}.uid`, uid, "must not be empty"));
    if (apiVersion === "v1" && kind === "Event")
      errors.push(invalidValue(field, goOwner(owner), "/v1, Kind=Event is disallowed from being an owner"));
    if (owner.controller !== true) continue;
    const reference = `${kind}/${name}`;
    if (controller === "") controller = reference;
    else {
      const text = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${reference}`;
      all ??= goValue(`[]v1.OwnerReference{${owners.map((one) => goOwner(one).text).join(", ")}}`);
      errors.push(invalidValue(field, all, text));
    }
  }
  return errors;
}

/** As Go prints the struct. Differs: upstream shows the addresses of its booleans. */
function goOwner({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }: OwnerReference): GoText {
  const flag = (value: boolean | undefined) => (value === undefined ? "(*bool)(nil)" : `(*bool)(${value})`);
  return goValue(
    `v1.OwnerReference{APIVersion:${JSON.stringify(apiVersion)}, Kind:${JSON.stringify(kind)}, Name:${JSON.stringify(name)}, UID:${JSON.stringify(uid)}, Controller:${flag(controller)}, BlockOwnerDeletion:${flag(blockOwnerDeletion)}}`,
  );
}

function validateFinalizers(finalizers: readonly string[] = []): FieldError[] {
  const field = "metadata.finalizers";
  const errors = finalizers.flatMap((name) => isQualifiedName(name).map((one) => invalidValue(field, name, one)));
  if (finalizers.includes(FINALIZER_ORPHAN) && finalizers.includes(FINALIZER_FOREGROUND)) {
    const text = `finalizer ${FINALIZER_ORPHAN} and ${FINALIZER_FOREGROUND} cannot be both set`;
    errors.push(invalidValue(field, goStrings(finalizers), text));
  }
  return errors;
}

function goStrings(values: readonly string[]): GoText {
  return goValue(`[]string{${values.map((one) => JSON.stringify(one)).join(", ")}}`);
}

const IMMUTABLE_FIELDS = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

/** Mirrors ValidateObjectMetaAccessorUpdate. The resourceVersion is already checked. */
export function validateMetaUpdate(meta: ObjectMeta, old: ObjectMeta): FieldError[] {
  const errors = old.deletionTimestamp === undefined ? [] : validateNoNewFinalizers(meta, old);
  const { generation = 0 } = meta;
  if (generation < (old.generation ?? 0))
    errors.push(invalidValue("metadata.generation", generation, "must not be decremented"));
  for (const name of IMMUTABLE_FIELDS) {
    if (sameJson(meta[name] ?? undefined, old[name] ?? undefined)) continue;
    errors.push(invalidValue(`metadata.${name}`, goMetaValue(name, meta[name]), IMMUTABLE));
  }
  return [...errors, ...validateParts(meta)];
}

function goMetaValue(name: (typeof IMMUTABLE_FIELDS)[number], value: unknown): unknown {
  if (!name.endsWith("Timestamp")) return value ?? (name === "deletionGracePeriodSeconds" ? goValue("null") : "");
  return goValue(typeof value === "string" ? `${value.slice(0, 10)} ${value.slice(11, 19)} +0000 UTC` : "null");
}

function validateNoNewFinalizers(meta: ObjectMeta, old: ObjectMeta): FieldError[] {
  const known = new Set(old.finalizers);
  const extra = [...new Set(meta.finalizers)].filter((one) => !known.has(one)).sort();
  if (extra.length === 0) return [];
  const text = "no new finalizers can be added if the object is being deleted, found new finalizers";
  return [forbidden("metadata.finalizers", `${text} ${goStrings(extra).text}`)];
}
