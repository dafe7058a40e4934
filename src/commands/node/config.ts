import { dirname } from "node:path";
import { type KubeletConfiguration, setDefaults } from "../../kubelet/apis/config/defaults.js";
import { withoutEffect } from "../../kubelet/apis/config/effects.js";
import { CONFIG_API_VERSION, CONFIG_KIND, type ConfigFile, loadConfigFile } from "../../kubelet/apis/config/load.js";
import { DEFAULT_RESOURCES } from "../../testbed/node/join-plan.js";
import { isRecord } from "../../util/records.js";
import { stringify } from "../../util/yaml.js";
import type { CommandResult } from "../cli/context.js";
import { readNode } from "./configuration.js";

/** A field whose value is not the release's default. `authentication.webhook.cacheTTL` */
interface Difference {
  readonly field: string;
  readonly value: unknown;
  /** undefined: the field has none */
  readonly default: unknown;
}

/** Upstream's defaults in a release, as a file. */
export function defaultsResult(kubeVersion: string): CommandResult {
  const configuration = { apiVersion: CONFIG_API_VERSION, kind: CONFIG_KIND, ...setDefaults({}, kubeVersion) };
  return { text: stringify(configuration, { sortMapEntries: true, lineWidth: 0 }).trimEnd(), json: configuration };
}

/**
 * The defaults that a file changes, and its fields without effect.
 * @throws LabError for what `node --config` refuses on a node with the default resources
 */
export async function fileResult(path: string, kubeVersion: string): Promise<CommandResult> {
  const place = { home: dirname(path), cwd: dirname(path), canAsk: false };
  await readNode({ node: "node-1", ...DEFAULT_RESOURCES, pods: undefined, config: path }, place, kubeVersion);
  const file = await loadConfigFile(path, kubeVersion);
  const config = setDefaults(file.fields, kubeVersion);
  const differences = differencesOf(config, kubeVersion);
  const idle = withoutEffect(file);
  const json = { file: path, kubeVersion, differences, withoutEffect: idle, warning: file.warning ?? null };
  return { text: textOf(differences, idle, file, kubeVersion), json, isProse: true };
}

function differencesOf(config: KubeletConfiguration, kubeVersion: string): Difference[] {
  const defaults = flatten(setDefaults({}, kubeVersion));
  const values = flatten(config);
  const names = [...new Set([...defaults.keys(), ...values.keys()])];
  return names
    .map((field) => ({ field, value: values.get(field), default: defaults.get(field) }))
    .filter((one) => JSON.stringify(one.value) !== JSON.stringify(one.default));
}

function flatten(value: object, prefix = ""): Map<string, unknown> {
  const out = new Map<string, unknown>();
  for (const [name, one] of Object.entries(value)) {
    if (isRecord(one) && Object.keys(one).length > 0) {
      for (const [path, inner] of flatten(one, `${prefix}${name}.`)) out.set(path, inner);
    } else if (!isRecord(one)) out.set(`${prefix}${name}`, one);
  }
  return out;
}

function textOf(
  differences: readonly Difference[],
  idle: readonly string[],
  { path, warning }: ConfigFile,
  kubeVersion: string,
): string {
  const shown = (value: unknown) => (value === undefined ? "none" : JSON.stringify(value));
  const lines = differences.map((one) => `${one.field}: ${shown(one.value)} (default: ${shown(one.default)})`);
  const head = lines.length === 0 ? `${path} is valid, and has the defaults of v${kubeVersion}.` : lines.join("\n");
  const tail = idle.length === 0 ? [] : [`Without an effect in this kubelet: ${idle.join(", ")}`];
  return [head, ...tail, ...(warning === undefined ? [] : [warning])].join("\n");
}
