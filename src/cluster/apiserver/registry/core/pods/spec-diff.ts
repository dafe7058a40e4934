import { jsonFields } from "../../../../../staging/apimachinery/scheme/catalogue.js";
import type { FieldType } from "../../../../../staging/apimachinery/scheme/schema.js";
import { semanticallyEqual } from "../../../../../staging/apimachinery/semantic-equality.js";
import { isRecord, isSet } from "../../../../../util/records.js";
import { counted } from "../../../../../util/text/counted.js";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Two pod specs compared, for the message about a forbidden update.
 *
 * Mirrors the output of github.com/google/go-cmp (Diff) for two core.PodSpec: changed fields with a minus and a plus,
 * two equal fields around them, the others counted. Differs: shows a changed list whole, not element by element. Some
 * builds of go-cmp, such as the recorded server's, write no-break spaces in the margin against parsers.
 */
export function podSpecDiff(before: Fields, after: Fields): string {
  const changed = SPEC_FIELDS.map(
    (name) => !semanticallyEqual(before[name], after[name]) || hasHiddenChange(name, before, after),
  );
  const isShown = SPEC_FIELDS.map((_, index) => {
    const near = [index - 2, index - 1, index, index + 1, index + 2];
    return near.some((one) => changed[one] === true);
  });
  const shown = SPEC_FIELDS.filter((_, index) => isShown[index]);
  const width = Math.max(...shown.map((name) => goName(name).length)) + 2;
  const lines: string[] = [`${MARGIN}core.PodSpec{`];
  let skipped = 0;
  SPEC_FIELDS.forEach((name, index) => {
    if (!isShown[index]) {
      skipped++;
      return;
    }
    if (skipped > 0) lines.push(identicalFields(skipped));
    skipped = 0;
    const line = (mark: string, spec: Fields): string =>
      `${mark}${NBSP}\t${`${goName(name)}:`.padEnd(width)}${goLiteral(name, spec[name])},`;
    if (changed[index]) lines.push(line("-", before), line("+", after));
    else lines.push(line(NBSP, before));
  });
  if (skipped > 0) lines.push(identicalFields(skipped));
  return `${[...lines, `${MARGIN}}`].join("\n")}\n`;
}

const NBSP = "\u00a0";
const MARGIN = NBSP + NBSP;

/** In the order of the server's internal type. */
const SPEC_FIELDS = [
  "volumes",
  "initContainers",
  "containers",
  "ephemeralContainers",
  "restartPolicy",
  "terminationGracePeriodSeconds",
  "activeDeadlineSeconds",
  "dnsPolicy",
  "nodeSelector",
  "serviceAccountName",
  "automountServiceAccountToken",
  "nodeName",
  "securityContext",
  "imagePullSecrets",
  "hostname",
  "subdomain",
  "setHostnameAsFQDN",
  "affinity",
  "schedulerName",
  "tolerations",
  "hostAliases",
  "priorityClassName",
  "priority",
  "preemptionPolicy",
  "dnsConfig",
  "readinessGates",
  "runtimeClassName",
  "overhead",
  "enableServiceLinks",
  "topologySpreadConstraints",
  "os",
] as const;

/** Fields of the pod's spec in the API, but of the security context in the server's internal type. */
const SECURITY_CONTEXT_FIELDS = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];

function hasHiddenChange(name: string, before: Fields, after: Fields): boolean {
  if (name !== "securityContext") return false;
  return SECURITY_CONTEXT_FIELDS.some((one) => !semanticallyEqual(before[one], after[one]));
}

const STRING_FIELDS = new Set<string>([
  "restartPolicy",
  "dnsPolicy",
  "serviceAccountName",
  "nodeName",
  "hostname",
  "subdomain",
  "schedulerName",
  "priorityClassName",
]);

function identicalFields(count: number): string {
  return `${MARGIN}\t... // ${counted(count, "identical field")}`;
}

function goName(name: string): string {
  if (name === "dnsPolicy" || name === "dnsConfig") return `DNS${name.slice(3)}`;
  if (name === "os") return "OS";
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/** Roughly Go's syntax: fields with pointers get an ampersand. */
function goLiteral(name: string, value: unknown): string {
  if (!isSet(value)) return STRING_FIELDS.has(name) ? '""' : "nil";
  const text = goValueText(value, typeOf("PodSpec", name));
  return STRING_FIELDS.has(name) || Array.isArray(value) || name === "nodeSelector" ? text : `&${text}`;
}

/** Writes a value with the fields of a struct in Go's order, so that two values differ in text only where they differ. */
function goValueText(value: unknown, type: FieldType | undefined): string {
  if (Array.isArray(value)) {
    const items = type?.type === "array" ? type.items : undefined;
    return `{${value.map((one) => goValueText(one, items)).join(", ")}}`;
  }
  if (!isRecord(value)) return JSON.stringify(value ?? null);
  if (type?.type !== "object") {
    const values = type?.type === "map" ? type.values : undefined;
    // go-cmp sorts the keys of maps.
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}: ${goValueText(value[key], values)}`).join(", ")}}`;
  }
  const fields = jsonFields(type.ref).filter(({ name }) => isSet(value[name]));
  return `{${fields.map((field) => `${goName(field.name)}: ${goValueText(value[field.name], field.type)}`).join(", ")}}`;
}

function typeOf(struct: string, name: string): FieldType | undefined {
  return jsonFields(struct).find((field) => field.name === name)?.type;
}
