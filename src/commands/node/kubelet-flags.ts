import { type Command, InvalidArgumentError, Option } from "commander";
import { fieldType, type KubeletConfigurationFields } from "../../kubelet/apis/config/fields.js";
import { ANSWERED_FLAGS, CONFIG_FLAGS } from "../../kubelet/apis/config/flags.js";
import { goDuration, parseGoDuration } from "../../staging/apimachinery/time.js";
import { LabError, messageOf } from "../../util/errors.js";
import { isRecord } from "../../util/records.js";
import { inHelp } from "../cli/help-language.js";
import { addAlias } from "../cli/options.js";
import { parseBoolean } from "./flags.js";

const FURTHER = "Flags of eviction and of the Go kubelet: docs/commands.md";

/** The flags that the help lists. The names of the others are too long for it. */
const LISTED = [
  [
    "--container-log-max-size <bytes>",
    "a container's log is rotated at this size (default: 10Mi)",
    "containerLogMaxSize",
  ],
  [
    "--container-log-max-files <number>",
    "number of log files that are kept for each container (default: 5)",
    "containerLogMaxFiles",
  ],
  ["--eviction-hard <thresholds>", "evict pods at once below these: memory.available<500Mi", "evictionHard"],
] as const;

/** Adds the flags of kubelet v1.25 that the command does not have yet. */
export function addKubeletFlags(command: Command): Command {
  for (const [flags, description, path] of LISTED) command.option(flags, description, fieldOf(path));
  command.addHelpText("after", () => `\n${inHelp(command, FURTHER)}`);
  addAlias(command, "--container-runtime-endpoint", "--cri");
  addAlias(command, "--pod-manifest-path", "--manifest-dir");
  const isFree = (flag: string) => !command.options.some(({ long }) => long === `--${flag}`);
  for (const [flag, path] of [...CONFIG_FLAGS].filter(([name]) => isFree(name))) {
    const isBoolean = fieldType(path) === "bool";
    const option = new Option(`--${flag} ${isBoolean ? "[boolean]" : "<value>"}`).argParser(fieldOf(path));
    command.addOption((isBoolean ? option.preset("true") : option).hideHelp());
  }
  for (const [flag, answer] of [...ANSWERED_FLAGS].filter(([name]) => isFree(name))) {
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

/** The fields of a file, overridden by those of flags. */
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

/** Makes the parser for the flag of a field. A later value of a list or a map adds to an earlier one. */
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
  if (type.startsWith("map:"))
    return (text, before) => ({ ...(isRecord(before) ? before : {}), ...pairs(text, type, path) });
  return (text) => text;
}

function listed(text: string): string[] {
  return text.split(",").filter((one) => one !== "");
}

export function parseInteger(text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a whole number.");
}

/** Checks a duration as Go writes it. @returns it as Go prints it: `1m30s` */
export function parseDurationText(text: string): string {
  try {
    return goDuration(parseGoDuration(text));
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}.`);
  }
}

/** Mirrors LangleSeparatedMapStringString in k8s.io/component-base/cli/flag. */
const THRESHOLDS = /^eviction(?:Hard|Soft)$/;

function pairs(text: string, type: string, path: string): Record<string, unknown> {
  const isHeaders = type === "map:[]string";
  const separator = isHeaders ? ":" : THRESHOLDS.test(path) ? "<" : "=";
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
