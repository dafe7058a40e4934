import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { invalidValue } from "../../registry/rest/field-errors.js";

export type Level = "privileged" | "baseline" | "restricted";

/** The levels from the most to the least permissive. */
const LEVELS: readonly Level[] = ["privileged", "baseline", "restricted"];

/** A level as of a release. */
export interface LevelVersion {
  readonly level: Level;
  /** `latest` or `v1.25` */
  readonly version: string;
}

/** What a namespace enforces, audits and warns about. Mirrors Policy in k8s.io/pod-security-admission/api/helpers.go. */
export interface NamespacePolicy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

type Mode = keyof NamespacePolicy;

const PREFIX = "pod-security.kubernetes.io/";
const DEFAULT: LevelVersion = { level: "privileged", version: "latest" };

/**
 * Reads the labels of a namespace. The policy is complete even if labels are wrong: enforce is then restricted, audit and warn are
 * privileged.
 *
 * Mirrors PolicyToEvaluate.
 */
export function policyOf(labels: Readonly<Record<string, string>> = {}): {
  readonly policy: NamespacePolicy;
  readonly errors: readonly FieldError[];
} {
  const errors: FieldError[] = [];
  const enforce = modeOf("enforce", labels, "restricted", errors);
  const audit = modeOf("audit", labels, "privileged", errors);
  const warn = modeOf("warn", labels, "privileged", errors);
  const hasWarnLevel = labels[`${PREFIX}warn`] !== undefined;
  const hasEnforceLevel = isLevel(labels[`${PREFIX}enforce`]);
  if (hasWarnLevel || !hasEnforceLevel || compareLevels(enforce.level, warn.level) <= 0) {
    return { policy: { enforce, audit, warn }, errors };
  }
  // A namespace that enforces a level warns about the templates of controllers, which are not refused.
  const version = labels[`${PREFIX}warn-version`] === undefined ? enforce.version : warn.version;
  return { policy: { enforce, audit, warn: { level: enforce.level, version } }, errors };
}

function modeOf(
  mode: Mode,
  labels: Readonly<Record<string, string>>,
  levelIfWrong: Level,
  errors: FieldError[],
): LevelVersion {
  let { level, version } = DEFAULT;
  const givenLevel = labels[`${PREFIX}${mode}`];
  if (givenLevel !== undefined) {
    level = isLevel(givenLevel) ? givenLevel : levelIfWrong;
    if (!isLevel(givenLevel)) errors.push(wrongLabel(mode, givenLevel, `must be one of ${LEVELS.join(", ")}`));
  }
  const givenVersion = labels[`${PREFIX}${mode}-version`];
  if (givenVersion !== undefined) {
    if (isVersion(givenVersion)) version = givenVersion;
    else errors.push(wrongLabel(`${mode}-version`, givenVersion, 'must be "latest" or "v1.x"'));
  }
  return { level, version };
}

function isLevel(text: string | undefined): text is Level {
  return LEVELS.some((level) => level === text);
}

function isVersion(text: string): boolean {
  return text === "latest" || /^v1\.(?:\d|[1-9]\d*)$/.test(text);
}

function wrongLabel(label: string, value: string, detail: string): FieldError {
  return invalidValue(`metadata.labels[${PREFIX}${label}]`, value, detail);
}

/** @returns a positive number if `a` is stricter than `b`. Mirrors CompareLevels. */
export function compareLevels(a: Level, b: Level): number {
  return LEVELS.indexOf(a) - LEVELS.indexOf(b);
}

/** `restricted:latest` */
export function levelText({ level, version }: LevelVersion): string {
  return `${level}:${version}`;
}
