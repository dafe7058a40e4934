import type { V1ConfigMap, V1Secret } from "@kubernetes/client-node";
import { isConfigMapKey } from "../../../../staging/apimachinery/api/names.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { AGE_COLUMN, ageOf, column, countOf, NAME_COLUMN } from "../rest/cells.js";
import type { Strategy } from "../rest/definition.js";
import { addErrors, forbidden, invalidValue, required } from "../rest/field-errors.js";
import { row } from "../rest/rows.js";

/** Config maps and secrets: named bytes for pods. */

const MAX_SECRET_BYTES = 1024 * 1024;

type Values = Readonly<Record<string, string>>;

function keyErrors(values: Values, field: string): FieldError[] {
  return Object.keys(values).flatMap((key) =>
    isConfigMapKey(key).map((message) => invalidValue(`${field}[${key}]`, key, message)),
  );
}

/** Mirrors ValidateConfigMap in pkg/apis/core/validation/validation.go. */
function validateConfigMap({ data: plain = {}, binaryData: binary = {} }: Wire<V1ConfigMap>): FieldError[] {
  const errors = keyErrors(plain, "data");
  for (const key of Object.keys(plain)) {
    if (Object.hasOwn(binary, key))
      errors.push(invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData"));
  }
  addErrors(errors, keyErrors(binary, "binaryData"));
  const sizeBytes = textBytes(plain) + base64Bytes(binary);
  if (sizeBytes > MAX_SECRET_BYTES) errors.push(tooLongData(""));
  return errors;
}

function tooLongData(field: string): FieldError {
  return { type: "FieldValueTooLong", field, text: `Too long: must have at most ${MAX_SECRET_BYTES} bytes` };
}

function textBytes(values: Values): number {
  return Object.values(values).reduce((sum, one) => sum + Buffer.byteLength(one), 0);
}

function base64Bytes(values: Values): number {
  return Object.values(values).reduce((sum, one) => sum + Buffer.byteLength(one, "base64"), 0);
}

const IMMUTABLE_IS_SET = "field is immutable when `immutable` is set";

/** Mirrors the immutable rules of ValidateConfigMapUpdate and ValidateSecretUpdate. */
function immutableErrors<T extends Wire<V1ConfigMap> | Wire<V1Secret>>(
  object: T,
  old: T,
  guarded: readonly (keyof T & string)[],
): FieldError[] {
  if (old.immutable !== true) return [];
  const errors: FieldError[] = [];
  if (object.immutable !== true) errors.push(forbidden("immutable", IMMUTABLE_IS_SET));
  for (const field of guarded) {
    if (!semanticallyEqual(object[field], old[field])) errors.push(forbidden(field, IMMUTABLE_IS_SET));
  }
  return errors;
}

const configMapStrategy: Strategy = {
  allowUnconditionalUpdate: true,
  validate: validateConfigMap,
  validateUpdate: (configMap: Wire<V1ConfigMap>, old: Wire<V1ConfigMap>) => [
    ...immutableErrors(configMap, old, ["data", "binaryData"]),
    ...validateConfigMap(configMap),
  ],
};

/** The required keys of secrets with a well-known type. Mirrors the switch over types in ValidateSecret. */
const REQUIRED_SECRET_KEYS: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
};

const SERVICE_ACCOUNT_NAME_KEY = "kubernetes.io/service-account.name";

function validateSecret(secret: Wire<V1Secret>): FieldError[] {
  const { data: values = {}, type = "" } = secret;
  const errors = keyErrors(values, "data");
  if (base64Bytes(values) > MAX_SECRET_BYTES) errors.push(tooLongData("data"));
  if (type === "kubernetes.io/service-account-token") {
    if ((secret.metadata.annotations?.[SERVICE_ACCOUNT_NAME_KEY] ?? "") === "") {
      errors.push(required(`metadata.annotations[${SERVICE_ACCOUNT_NAME_KEY}]`));
    }
  } else if (type === "kubernetes.io/basic-auth") {
    if (!("username" in values) && !("password" in values)) {
      errors.push(required("data[username]"), required("data[password]"));
    }
  } else {
    for (const key of Object.hasOwn(REQUIRED_SECRET_KEYS, type) ? (REQUIRED_SECRET_KEYS[type] ?? []) : [])
      if (!Object.hasOwn(values, key)) errors.push(required(`data[${key}]`));
    if (type.startsWith("kubernetes.io/dockerc")) errors.push(...dockerConfigErrors(values));
  }
  return errors;
}

function dockerConfigErrors(values: Values): FieldError[] {
  return [".dockercfg", ".dockerconfigjson"]
    .filter((key) => key in values)
    .flatMap((key) => {
      try {
        JSON.parse(Buffer.from(values[key] ?? "", "base64").toString());
        return [];
      } catch {
        return [invalidValue(`data[${key}]`, "<secret contents redacted>", "invalid JSON")];
      }
    });
}

/** Mirrors pkg/registry/core/secret/strategy.go. The schema has merged stringData into data. */
const secretStrategy: Strategy = {
  allowUnconditionalUpdate: true,
  validate: validateSecret,
  validateUpdate(secret: Wire<V1Secret>, old: Wire<V1Secret>) {
    const errors: FieldError[] = [];
    const { type = "" } = secret;
    if (type !== (old.type ?? "")) errors.push(invalidValue("type", type, "field is immutable"));
    return [...errors, ...immutableErrors(secret, old, ["data"]), ...validateSecret(secret)];
  },
};

export const CONFIG_MAPS = row("v1", "ConfigMap", "configmaps", configMapStrategy, {
  shortNames: ["cm"],
  table: {
    columns: [NAME_COLUMN, column("Data", "The number of keys, text and binary ones together."), AGE_COLUMN],
    cells: (configMap: Wire<V1ConfigMap>, nowMs) => [
      nameOf(configMap),
      countOf(configMap.data) + countOf(configMap.binaryData),
      ageOf(configMap, nowMs),
    ],
  },
});

export const SECRETS = row("v1", "Secret", "secrets", secretStrategy, {
  selectableFields: ({ type = "" }: Wire<V1Secret>) => ({ type }),
  table: {
    columns: [
      NAME_COLUMN,
      column("Type", "The type of the secret, so that programs can tell kinds of secrets apart."),
      column("Data", "The number of keys."),
      AGE_COLUMN,
    ],
    cells: (secret: Wire<V1Secret>, nowMs) => [
      nameOf(secret),
      secret.type ?? "",
      countOf(secret.data),
      ageOf(secret, nowMs),
    ],
  },
});
