import type { MessageKey } from "../i18n/catalogue.js";
import { MessageError } from "../i18n/message-error.js";

/** A parsed kubectl line. */
export interface KubectlLine {
  readonly verb: string;
  readonly words: readonly string[];
  readonly flags: Readonly<Record<string, string | true>>;
  readonly files: readonly string[];
  /** the words after `--` */
  readonly rest: readonly string[];
}

/** Flags that take a value, by all their names. */
const WITH_VALUE: Readonly<Record<string, string>> = {
  "-n": "namespace",
  "--namespace": "namespace",
  "-o": "output",
  "--output": "output",
  "-l": "selector",
  "--selector": "selector",
  "--field-selector": "field-selector",
  "--kubeconfig": "kubeconfig",
  "--token": "token",
  "--context": "context",
  "--image": "image",
  "--image-pull-policy": "image-pull-policy",
  "--restart": "restart",
  "-c": "container",
  "--container": "container",
  "--tail": "tail",
  "--raw": "raw",
  "--grace-period": "grace-period",
  "--patch": "patch",
  "-p": "patch",
  "--type": "type",
  "--server": "server",
  "--certificate-authority": "certificate-authority",
  "--client-certificate": "client-certificate",
  "--client-key": "client-key",
  "--cluster": "cluster",
  "--user": "user",
};
const WITHOUT_VALUE: Readonly<Record<string, string>> = {
  "-A": "all-namespaces",
  "--all-namespaces": "all-namespaces",
  "--all": "all",
  "--minify": "minify",
  "--no-headers": "no-headers",
  "--ignore-not-found": "ignore-not-found",
  "--force": "force",
  "--overwrite": "overwrite",
  "--wait": "wait",
  "--raw": "raw",
  "--previous": "previous",
  "--embed-certs": "embed-certs",
  "--current": "current",
  "--local": "local",
  "-w": "watch",
  "--watch": "watch",
};
const FILES = new Set(["-f", "--filename"]);

/** @throws LabError USAGE for flags that the built-in kubectl does not support */
export function parseLine(argv: readonly string[]): KubectlLine {
  const flags: Record<string, string | true> = {};
  const words: string[] = [];
  const files: string[] = [];
  const end = argv.indexOf("--");
  const line = end < 0 ? [...argv] : argv.slice(0, end);
  const isConfig = line[0] === "config";
  for (let i = 0; i < line.length; i++) {
    const word = line[i] ?? "";
    if (!word.startsWith("-") || word === "-") {
      words.push(word);
      continue;
    }
    const equals = word.startsWith("--") ? word.indexOf("=") : -1;
    const name = equals < 0 ? word : word.slice(0, equals);
    const given = equals < 0 ? undefined : word.slice(equals + 1);
    const value = () => given ?? line[++i] ?? "";
    if (FILES.has(name)) files.push(value());
    else if (WITHOUT_VALUE[name] !== undefined && (WITH_VALUE[name] === undefined || isConfig)) {
      if (given !== "false") flags[WITHOUT_VALUE[name] ?? ""] = given ?? true;
    } else if (WITH_VALUE[name] !== undefined) flags[WITH_VALUE[name] ?? ""] = value();
    else if (/^-[nolcp]./.test(word) && WITH_VALUE[word.slice(0, 2)] !== undefined) {
      flags[WITH_VALUE[word.slice(0, 2)] ?? ""] = word.slice(2).replace(/^=/, "");
    } else throw unknown(name);
  }
  return { verb: words[0] ?? "", words: words.slice(1), flags, files, rest: end < 0 ? [] : argv.slice(end + 1) };
}

/** @param key the message, if `what` alone is not enough */
export function unknown(
  what: string,
  key: MessageKey = what === "" ? "kubectlNothing" : "kubectlUnknown",
): MessageError {
  return new MessageError("USAGE", [key, { what }], ["kubectlUnknownHint"]);
}

export function text(line: KubectlLine, flag: string): string | undefined {
  const value = line.flags[flag];
  return typeof value === "string" ? value : undefined;
}
