import { isIP } from "node:net";
import { InvalidArgumentError } from "commander";
import { isLabelValue, isQualifiedName } from "../../staging/apimachinery/api/names.js";
import type { Taint } from "../../staging/apimachinery/api/node.js";
import {
  isReservedForOthers,
  KUBELET_LABEL_NAMESPACES,
  KUBELET_LABELS,
} from "../../staging/apimachinery/corev1/kubelet-labels.js";
import { TAINT_EFFECTS, taintProblem } from "../../staging/apimachinery/corev1/taints.js";
import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { defined } from "../../util/defined.js";
import { messageOf } from "../../util/errors.js";

/** Mirrors --cluster-dns, which takes a list with commas. */
export function parseAddresses(text: string): string[] {
  const addresses = text.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));
  const wrong = addresses.find((address) => isIP(address) === 0);
  if (wrong === undefined) return addresses;
  throw new InvalidArgumentError(
    `${JSON.stringify(wrong)} is not an IP address; expected for example 10.96.0.10,1.1.1.1.`,
  );
}

export function parseDomain(text: string): string {
  if (text === "" || /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text))
    return text;
  throw new InvalidArgumentError("expected a domain in lower case, for example cluster.local.");
}

/** @returns ms; negative for a clock that is late */
export function parseOffset(text: string): number {
  try {
    return parseGoDuration(text);
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}; expected for example -10m or 2h30m.`);
  }
}

/** As Go's flags: `--register-node=false`. */
export function parseBoolean(text: string): boolean {
  if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
  if (/^(0|f|F|FALSE|false|False)$/.test(text)) return false;
  throw new InvalidArgumentError("expected true or false.");
}

type Labels = Readonly<Record<string, string>>;

/**
 * Adds the labels of `zone=a,disk=ssd` to those of earlier flags.
 * Mirrors ValidateKubeletFlags in cmd/kubelet/app/options/options.go.
 * @throws InvalidArgumentError: commander names the flag
 */
export function parseNodeLabels(text: string, before: Labels = {}): Labels {
  const labels: Record<string, string> = { ...before };
  for (const part of text.split(",").map((one) => one.trim())) {
    if (part === "") continue;
    const at = part.indexOf("=");
    if (at === -1) throw new InvalidArgumentError(`${JSON.stringify(part)} is not a label; expected key=value.`);
    const [key, value] = [part.slice(0, at), part.slice(at + 1)];
    const [problem] = [...isQualifiedName(key), ...isLabelValue(value)];
    if (problem !== undefined) throw new InvalidArgumentError(`${JSON.stringify(part)}: ${problem}.`);
    labels[key] = value;
  }
  const reserved = Object.keys(labels).filter(isReservedForOthers).sort();
  if (reserved.length === 0) return labels;
  throw new InvalidArgumentError(
    `a kubelet may not set ${reserved.join(", ")}: of Kubernetes' own labels, those below ${KUBELET_LABEL_NAMESPACES.join(", ")}, and ${[...KUBELET_LABELS].sort().join(", ")}. An administrator may: kubectl label node.`,
  );
}

/**
 * Adds the taints of `key=value:effect,key:effect` to those of earlier flags.
 * As upstream's ParseTaints, without removals.
 * @throws InvalidArgumentError: commander names the flag
 */
export function parseTaints(text: string, before: readonly Taint[] = []): readonly Taint[] {
  const taints = [...before];
  for (const part of text.split(",").map((one) => one.trim())) {
    if (part === "") continue;
    const [, key = "", value, effect = ""] = /^([^=:]+)(?:=([^=:]*))?:([^:]*)$/.exec(part) ?? [];
    if (!TAINT_EFFECTS.includes(effect)) {
      const expected = `expected key=value:effect or key:effect, with the effect ${TAINT_EFFECTS.join(", ")}`;
      throw new InvalidArgumentError(`${JSON.stringify(part)} is not a taint; ${expected}.`);
    }
    const taint: Taint = { key, effect, ...defined({ value }) };
    const problem = taintProblem(taint);
    if (problem !== undefined) throw new InvalidArgumentError(`${JSON.stringify(part)}: ${problem}.`);
    if (taints.some((one) => one.key === key && one.effect === effect)) {
      throw new InvalidArgumentError(`${key} has the effect ${effect} twice; expected it once.`);
    }
    taints.push(taint);
  }
  return taints;
}
