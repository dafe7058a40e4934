import { isDns1035Label, isDns1123Subdomain } from "../../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { goQuote } from "../../../../../staging/apimachinery/scheme/go-text.js";
import { forbidden, goValue, IMMUTABLE, invalidValue, notSupported, required } from "../../rest/field-errors.js";
import { isTrue } from "../conditions.js";
import type {
  Definition,
  DefinitionConversion,
  DefinitionNames,
  DefinitionSpec,
  DefinitionVersion,
  JsonSchema,
  PrinterColumn,
  ScalePaths,
} from "../types.js";
import { approvalOf, isProtectedGroup } from "./approval.js";
import { validateDefaults } from "./default-rules.js";
import { validateSchema } from "./schema-rules.js";
import { validateStructural } from "./structural-rules.js";

/**
 * The rules for definitions.
 * Mirrors k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go.
 */

/** Compiles the rules of a schema that is valid otherwise. */
export type ValidateRules = (schema: JsonSchema, path: string) => FieldError[];

/** Mirrors ValidateCustomResourceDefinition. @param rules absent: no schema has rules */
export function validateDefinition(definition: Definition, rules?: ValidateRules): FieldError[] {
  const { name = "" } = definition.metadata;
  const { spec } = definition;
  const wanted = `${spec.names.plural}.${spec.group}`;
  const misnamed =
    name === wanted ? [] : [invalidValue("metadata.name", name, 'must be spec.names.plural+"."+spec.group')];
  return [...misnamed, ...validateSpec(spec, rules), ...validateStored(definition), ...validateApproval(definition)];
}

/** Mirrors ValidateCustomResourceDefinitionUpdate. */
export function validateDefinitionUpdate(definition: Definition, old: Definition, rules?: ValidateRules): FieldError[] {
  const { spec } = definition;
  const fixed = isTrue(old, "Established")
    ? [
        ...immutable("spec.scope", spec.scope, old.spec.scope),
        ...immutable("spec.names.kind", spec.names.kind, old.spec.names.kind),
      ]
    : [];
  return [
    ...validateSpec(spec, rules),
    ...fixed,
    ...immutable("spec.group", spec.group, old.spec.group),
    ...immutable("spec.names.plural", spec.names.plural, old.spec.names.plural),
    ...validateStored(definition),
    ...validateApproval(definition, old),
  ];
}

function immutable(field: string, value: string, old: string): FieldError[] {
  return value === old ? [] : [invalidValue(field, value, IMMUTABLE)];
}

/** An update that leaves a protected group unapproved is as before. Mirrors validateAPIApproval. */
function validateApproval(definition: Definition, old?: Definition): FieldError[] {
  if (!isProtectedGroup(definition.spec.group)) return [];
  const approval = approvalOf(definition);
  if (old !== undefined && approvalOf(old).state === approval.state) return [];
  const annotation = "metadata.annotations[api-approved.kubernetes.io]";
  if (approval.state === "missing") return [required(annotation, approval.reason)];
  return approval.state === "invalid" ? [invalidValue(annotation, approval.value, approval.reason)] : [];
}

function validateSpec(spec: DefinitionSpec, rules: ValidateRules | undefined): FieldError[] {
  const { group, names, scope, versions, conversion, preserveUnknownFields } = spec;
  const errors: FieldError[] = [...validateGroup(group)];
  if (scope === "") errors.push(required("spec.scope"));
  else if (scope !== "Cluster" && scope !== "Namespaced") {
    errors.push(notSupported("spec.scope", scope, ["Cluster", "Namespaced"]));
  }
  versions.forEach((version, i) => {
    if (version.schema?.openAPIV3Schema !== undefined) return;
    errors.push(required(`spec.versions[${i}].schema.openAPIV3Schema`, "schemas are required"));
  });
  for (const [i, version] of versions.entries()) errors.push(...validateVersion(version, `spec.versions[${i}]`, rules));
  const shown = () => goValue(goVersions(versions));
  if (new Set(versions.map(({ name }) => name)).size < versions.length) {
    errors.push(invalidValue("spec.versions", shown(), "must contain unique version names"));
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    errors.push(invalidValue("spec.versions", shown(), "must have exactly one version marked as storage version"));
  }
  for (const name of ["plural", "singular", "kind", "listKind"] as const) {
    if ((names[name] ?? "") === "") errors.push(required(`spec.names.${name}`));
  }
  errors.push(...validateNames(names, "spec.names"), ...validateConversion(conversion));
  if (preserveUnknownFields === true) {
    const why =
      "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    errors.push(invalidValue("spec.preserveUnknownFields", true, why));
  }
  return errors;
}

/** Differs: upstream shows whole versions, with addresses of memory. */
function goVersions(versions: readonly DefinitionVersion[]): string {
  const shown = versions.map(
    ({ name, served, storage }) => `{Name:${goQuote(name)}, Served:${served}, Storage:${storage}}`,
  );
  return `[]apiextensions.CustomResourceDefinitionVersion{${shown.join(", ")}}`;
}

function validateGroup(group: string): FieldError[] {
  if (group === "") return [required("spec.group")];
  const messages = isDns1123Subdomain(group);
  if (messages.length > 0) return [invalidValue("spec.group", group, messages.join(","))];
  return group.includes(".") ? [] : [invalidValue("spec.group", group, "should be a domain with at least one dot")];
}

/** Mirrors ValidateCustomResourceDefinitionNames. */
function validateNames(names: DefinitionNames, path: string): FieldError[] {
  const { plural, singular = "", kind, listKind = "", shortNames = [], categories = [] } = names;
  const label = (field: string, value: string) => {
    const messages = value === "" ? [] : isDns1035Label(value);
    return messages.length === 0 ? [] : [invalidValue(`${path}.${field}`, value, messages.join(","))];
  };
  const mixed = (field: string, value: string) => {
    const messages = value === "" ? [] : isDns1035Label(value.toLowerCase());
    const why = `may have mixed case, but should otherwise match: ${messages.join(",")}`;
    return messages.length === 0 ? [] : [invalidValue(`${path}.${field}`, value, why)];
  };
  const same =
    kind !== "" && kind === listKind
      ? [invalidValue(`${path}.listKind`, listKind, "kind and listKind may not be the same")]
      : [];
  return [
    ...label("plural", plural),
    ...label("singular", singular),
    ...mixed("kind", kind),
    ...mixed("listKind", listKind),
    ...shortNames.flatMap((one, i) => label(`shortNames[${i}]`, one)),
    ...same,
    ...categories.flatMap((one, i) => label(`categories[${i}]`, one)),
  ];
}

function validateVersion(version: DefinitionVersion, path: string, rules: ValidateRules | undefined): FieldError[] {
  const { name, deprecated = false, deprecationWarning, schema, subresources, additionalPrinterColumns = [] } = version;
  const messages = isDns1035Label(name);
  const misnamed = messages.length === 0 ? [] : [invalidValue(`${path}.name`, name, messages.join(","))];
  const root = schema?.openAPIV3Schema;
  return [
    ...misnamed,
    ...validateWarning(deprecated, deprecationWarning, `${path}.deprecationWarning`),
    ...(root === undefined ? [] : validateRoot(root, subresources?.status !== undefined, `${path}.schema`, rules)),
    ...(subresources?.scale === undefined ? [] : validateScale(subresources.scale, `${path}.subresources.scale`)),
    ...additionalPrinterColumns.flatMap((one, i) => validateColumn(one, `${path}.additionalPrinterColumns[${i}]`)),
  ];
}

/** Mirrors validateDeprecationWarning. */
function validateWarning(deprecated: boolean, warning: string | undefined, path: string): FieldError[] {
  if (warning === undefined) return [];
  if (!deprecated) return [invalidValue(path, warning, "can only be set for deprecated versions")];
  const messages: string[] = [];
  if (Buffer.byteLength(warning) > 256) messages.push("must be <= 256 characters long");
  if (warning === "") messages.push("must not be an empty string");
  const at = [...warning].findIndex((char) => !/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(char));
  if (at >= 0) {
    const index = Buffer.byteLength([...warning].slice(0, at).join(""));
    const why = `must only contain printable UTF-8 characters; non-printable character found at index ${index}`;
    messages.push(why);
  }
  return messages.map((message) => invalidValue(path, warning, message));
}

const ALLOWED_AT_ROOT = [
  "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems",
  "MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations",
].join(" ");

/** Mirrors validateCustomResourceDefinitionValidation. */
function validateRoot(
  schema: JsonSchema,
  hasStatus: boolean,
  path: string,
  rules: ValidateRules | undefined,
): FieldError[] {
  const at = `${path}.openAPIV3Schema`;
  const errors: FieldError[] = hasStatus ? validateRootWithStatus(schema, at) : [];
  if (schema.nullable === true) errors.push(forbidden(`${at}.nullable`, "nullable cannot be true at the root"));
  const structural = validateStructural(schema, at);
  errors.push(...(structural.length > 0 ? structural : validateDefaults(schema, at)), ...validateSchema(schema, at));
  return errors.length > 0 || rules === undefined ? errors : rules(schema, at);
}

function validateRootWithStatus(schema: JsonSchema, at: string): FieldError[] {
  const allowed = new Set(ALLOWED_AT_ROOT.split(" "));
  for (const name of Object.keys(schema)) {
    if (name === "type" && schema.type !== "object") {
      const why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
      return [invalidValue(`${at}.type`, schema.type, why)];
    }
    if (allowed.has(goName(name))) continue;
    const why = `only [${ALLOWED_AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled`;
    return [invalidValue(at, goValue("apiextensions.JSONSchemaProps{}"), why)];
  }
  return [];
}

/** `x-kubernetes-list-type` is XListType. */
function goName(name: string): string {
  const words = name.replace(/^x-kubernetes/, "x").split("-");
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

/** Mirrors ValidateCustomResourceDefinitionSubresources. */
function validateScale({ specReplicasPath, statusReplicasPath, labelSelectorPath = "" }: ScalePaths, path: string) {
  const below = (field: string, value: string, parents: readonly string[], where: string): FieldError[] => {
    if (value === "") return [required(`${path}.${field}`)];
    const simple = validateJsonPath(value, `${path}.${field}`);
    if (simple.length > 0 || parents.some((one) => value.startsWith(one))) return simple;
    return [invalidValue(`${path}.${field}`, value, `should be a json path under ${where}`)];
  };
  const selector =
    labelSelectorPath === ""
      ? []
      : below("labelSelectorPath", labelSelectorPath, [".spec.", ".status."], "either .spec or .status");
  return [
    ...below("specReplicasPath", specReplicasPath, [".spec."], ".spec"),
    ...below("statusReplicasPath", statusReplicasPath, [".status."], ".status"),
    ...selector,
  ];
}

const COLUMN_TYPES = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/** Mirrors ValidateCustomResourceColumnDefinition. */
function validateColumn({ name, type, format = "", jsonPath }: PrinterColumn, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (name === "") errors.push(required(`${path}.name`));
  const types = `must be one of ${COLUMN_TYPES.join(",")}`;
  if (type === "") errors.push(required(`${path}.type`, types));
  else if (!COLUMN_TYPES.includes(type)) errors.push(invalidValue(`${path}.type`, type, types));
  if (format !== "" && !COLUMN_FORMATS.includes(format)) {
    errors.push(invalidValue(`${path}.format`, format, `must be one of ${COLUMN_FORMATS.join(",")}`));
  }
  if (jsonPath === "") errors.push(required(`${path}.JSONPath`));
  else errors.push(...validateJsonPath(jsonPath, `${path}.JSONPath`));
  return errors;
}

/** Mirrors validateSimpleJSONPath. */
function validateJsonPath(text: string, path: string): FieldError[] {
  return text.startsWith(".") ? [] : [invalidValue(path, text, "must be a simple json path starting with .")];
}

const REVIEW_VERSIONS = ["v1", "v1beta1"];

/** Mirrors validateCustomResourceConversion. */
function validateConversion(conversion: DefinitionConversion | undefined): FieldError[] {
  if (conversion === undefined) return [];
  const { strategy, webhook } = conversion;
  const path = "spec.conversion";
  const client = webhook?.clientConfig;
  const versions = webhook?.conversionReviewVersions ?? [];
  if (strategy === "") return [required(`${path}.strategy`)];
  if (strategy !== "None" && strategy !== "Webhook") {
    return [notSupported(`${path}.strategy`, strategy, ["None", "Webhook"])];
  }
  if (strategy === "None") {
    const why = "should not be set when strategy is not set to Webhook";
    return [
      ...(client === undefined ? [] : [forbidden(`${path}.webhookClientConfig`, why)]),
      ...(versions.length === 0 ? [] : [forbidden(`${path}.conversionReviewVersions`, why)]),
    ];
  }
  const errors: FieldError[] = [];
  if (client === undefined) {
    errors.push(required(`${path}.webhookClientConfig`, "required when strategy is set to Webhook"));
  } else if ((client.url === undefined) === (client.service === undefined)) {
    errors.push(required(`${path}.webhookClientConfig`, "exactly one of url or service is required"));
  } else if (client.url !== undefined) errors.push(...validateUrl(client.url, `${path}.webhookClientConfig.url`));
  if (versions.length === 0) errors.push(required(`${path}.conversionReviewVersions`));
  else if (!versions.some((one) => REVIEW_VERSIONS.includes(one))) {
    const why = `must include at least one of ${REVIEW_VERSIONS.join(", ")}`;
    errors.push(invalidValue(`${path}.conversionReviewVersions`, goValue(goStrings(versions)), why));
  }
  return errors;
}

/** Mirrors ValidateWebhookURL. */
function validateUrl(text: string, path: string): FieldError[] {
  const form = "; desired format: https://host[/path]";
  if (!URL.canParse(text)) return [required(path, `url must be a valid URL: ${JSON.stringify(text)}${form}`)];
  const { protocol, hash, search, username, host } = new URL(text);
  const errors: FieldError[] = [];
  if (protocol !== "https:") {
    errors.push(invalidValue(path, protocol.slice(0, -1), `'https' is the only allowed URL scheme${form}`));
  }
  if (host === "") errors.push(invalidValue(path, host, `host must be specified${form}`));
  if (username !== "") errors.push(invalidValue(path, username, "user information is not permitted in the URL"));
  if (hash !== "") errors.push(invalidValue(path, hash.slice(1), "fragments are not permitted in the URL"));
  if (search !== "") errors.push(invalidValue(path, search.slice(1), "query parameters are not permitted in the URL"));
  return errors;
}

function goStrings(values: readonly string[]): string {
  return `[]string{${values.map(goQuote).join(", ")}}`;
}

/** Mirrors ValidateCustomResourceDefinitionStoredVersions. */
function validateStored({ spec, status }: Definition): FieldError[] {
  const path = "status.storedVersions";
  const stored = status?.storedVersions ?? [];
  if (stored.length === 0) return [invalidValue(path, goValue("[]string{}"), "must have at least one stored version")];
  const missing = spec.versions
    .filter(({ name, storage }) => storage && !stored.includes(name))
    .map(({ name }) => invalidValue(path, name, `must have the storage version ${name}`));
  const names = spec.versions.map(({ name }) => name);
  const unknown = stored.flatMap((name, i) =>
    names.includes(name) ? [] : [invalidValue(`${path}[${i}]`, name, "must appear in spec.versions")],
  );
  return [...missing, ...unknown];
}
