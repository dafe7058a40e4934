import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { isConfigMapKey } from "../../../apimachinery/api/names.js";
import type { FieldError } from "../../../apimachinery/errors.js";
import type { Strategy, StrategyContext } from "../definition.js";
import { bool, fields, semanticallyEqual, text } from "./access.js";
import { AGE_COLUMN, ageOf, column, countOf, NAME_COLUMN, nameOf } from "./cells.js";
import { forbidden, invalidValue, required } from "./field-errors.js";
import { row } from "./rows.js";

/** Config maps and secrets: named bytes for pods. */

const MAX_SECRET_BYTES = 1024 * 1024;

function keyErrors(values: unknown, field: string): FieldError[] {
  return Object.keys(fields(values)).flatMap((key) =>
    isConfigMapKey(key).map((message) => invalidValue(`${field}[${key}]`, key, message)),
  );
}

/** Mirrors ValidateConfigMap in pkg/apis/core/validation/validation.go. */
function validateConfigMap(configMap: KubeObject): FieldError[] {
  const plain = fields(configMap.data);
  const binary = fields(configMap.binaryData);
  const errors = keyErrors(plain, "data");
  for (const key of Object.keys(plain)) {
    if (Object.hasOwn(binary, key))
      errors.push(invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData"));
  }
  errors.push(...keyErrors(binary, "binaryData"));
  const sizeBytes = textBytes(plain) + base64Bytes(binary);
  if (sizeBytes > MAX_SECRET_BYTES) errors.push(tooLongData(""));
  return errors;
}

function tooLongData(field: string): FieldError {
  return { type: "FieldValueTooLong", field, text: `Too long: must have at most ${MAX_SECRET_BYTES} bytes` };
}

function textBytes(values: unknown): number {
  return Object.values(fields(values)).reduce<number>((sum, one) => sum + Buffer.byteLength(text(one)), 0);
}

function base64Bytes(values: unknown): number {
  return Object.values(fields(values)).reduce<number>((sum, one) => sum + Buffer.byteLength(text(one), "base64"), 0);
}

const IMMUTABLE_IS_SET = "field is immutable when `immutable` is set";

/** Mirrors the immutable rules of ValidateConfigMapUpdate and ValidateSecretUpdate. */
function immutableErrors(object: KubeObject, old: KubeObject, guarded: readonly string[]): FieldError[] {
  if (bool(old.immutable) !== true) return [];
  const errors: FieldError[] = [];
  if (bool(object.immutable) !== true) errors.push(forbidden("immutable", IMMUTABLE_IS_SET));
  for (const field of guarded) {
    if (!semanticallyEqual(object[field], old[field])) errors.push(forbidden(field, IMMUTABLE_IS_SET));
  }
  return errors;
}

const configMapStrategy: Strategy = {
  allowUnconditionalUpdate: true,
  validate: validateConfigMap,
  validateUpdate: (configMap, old) => [
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

function validateSecret(secret: KubeObject): FieldError[] {
  const values = fields(secret.data);
  const errors = keyErrors(values, "data");
  if (base64Bytes(values) > MAX_SECRET_BYTES) errors.push(tooLongData("data"));
  const type = text(secret.type);
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

function dockerConfigErrors(values: Readonly<Record<string, unknown>>): FieldError[] {
  return [".dockercfg", ".dockerconfigjson"]
    .filter((key) => key in values)
    .flatMap((key) => {
      try {
        JSON.parse(Buffer.from(text(values[key]), "base64").toString());
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
  validateUpdate(secret: KubeObject, old: KubeObject, _context: StrategyContext) {
    const errors: FieldError[] = [];
    if (text(secret.type) !== text(old.type))
      errors.push(invalidValue("type", text(secret.type), "field is immutable"));
    return [...errors, ...immutableErrors(secret, old, ["data"]), ...validateSecret(secret)];
  },
};

export const CONFIG_MAPS = row("v1", "ConfigMap", "configmaps", configMapStrategy, {
  shortNames: ["cm"],
  table: {
    columns: [NAME_COLUMN, column("Data", "The number of keys, text and binary ones together."), AGE_COLUMN],
    cells: (configMap, nowMs) => [
      nameOf(configMap),
      countOf(configMap.data) + countOf(configMap.binaryData),
      ageOf(configMap, nowMs),
    ],
  },
});

export const SECRETS = row("v1", "Secret", "secrets", secretStrategy, {
  selectableFields: (secret) => ({ type: text(secret.type) }),
  table: {
    columns: [
      NAME_COLUMN,
      column("Type", "The type of the secret, so that programs can tell kinds of secrets apart."),
      column("Data", "The number of keys."),
      AGE_COLUMN,
    ],
    cells: (secret, nowMs) => [nameOf(secret), text(secret.type), countOf(secret.data), ageOf(secret, nowMs)],
  },
});
