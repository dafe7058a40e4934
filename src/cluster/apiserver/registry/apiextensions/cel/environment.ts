import { Environment } from "@marcbachmann/cel-js";
import { compilePattern } from "../schema/value-validation.js";

/**
 * The language of rules: CEL with the functions that Kubernetes adds.
 *
 * Mirrors k8s.io/apiserver/pkg/cel/library (lists.go, regex.go, urls.go).
 * Differs: has no quantities, addresses, formats and semantic versions of later releases: a rule with one of them does not compile.
 */
export function baseEnvironment(): Environment {
  const environment = new Environment({
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 10_000, maxDepth: 100 },
  });
  const add = (signature: string, handler: (...values: never[]) => unknown) => {
    environment.registerFunction(signature, handler);
  };
  add("string.matchesRe2(string): bool", (text: string, pattern: string) =>
    compilePattern(pattern).matcher(text).find(),
  );
  add("string.find(string): string", (text: string, pattern: string) => findAll(text, pattern, 1)[0] ?? "");
  add("string.findAll(string): list<string>", (text: string, pattern: string) => findAll(text, pattern, -1));
  add("string.findAll(string, int): list<string>", (text: string, pattern: string, limit: bigint) =>
    findAll(text, pattern, Number(limit)),
  );
  add("string.charAt(int): string", (text: string, index: bigint) => [...text][Number(index)] ?? "");
  add("string.replace(string, string): string", (text: string, old: string, by: string) => text.replaceAll(old, by));
  add("list<dyn>.isSorted(): bool", (list: Ordered[]) =>
    list.every((one, i) => i === 0 || (list[i - 1] as Ordered) <= one),
  );
  add("list<dyn>.sum(): dyn", (list: number[]) => sum(list));
  add("list<dyn>.min(): dyn", (list: Ordered[]) => extreme(list, "min", (a, b) => a < b));
  add("list<dyn>.max(): dyn", (list: Ordered[]) => extreme(list, "max", (a, b) => a > b));
  add("list<dyn>.indexOf(dyn): int", (list: unknown[], value: unknown) => BigInt(list.indexOf(value)));
  add("list<dyn>.lastIndexOf(dyn): int", (list: unknown[], value: unknown) => BigInt(list.lastIndexOf(value)));
  add("isURL(string): bool", (text: string) => text.startsWith("/") || URL.canParse(text));
  environment.registerType("URL", { ctor: Url, fields: {} });
  add("url(string): URL", (text: string) => new Url(text));
  for (const part of ["Scheme", "Host", "Hostname", "Port", "EscapedPath"] as const) {
    add(`URL.get${part}(): string`, (url: Url) => url.part(part));
  }
  return environment;
}

type Ordered = bigint | number | string;

function findAll(text: string, pattern: string, limit: number): string[] {
  const matcher = compilePattern(pattern).matcher(text);
  const found: string[] = [];
  while (found.length !== limit && matcher.find()) found.push(matcher.group() ?? "");
  return found;
}

function sum(list: readonly (number | bigint)[]): number | bigint {
  if (list.some((one) => typeof one === "number")) return list.reduce<number>((total, one) => total + Number(one), 0);
  return list.reduce<bigint>((total, one) => total + BigInt(one), 0n);
}

function extreme(list: readonly Ordered[], name: string, isBetter: (a: Ordered, b: Ordered) => boolean): Ordered {
  const [first, ...rest] = list;
  if (first === undefined) throw new Error(`${name} called on empty list`);
  return rest.reduce((best, one) => (isBetter(one, best) ? one : best), first);
}

/** A URL as rules see it. Mirrors apiserver/pkg/cel/url.go. */
class Url {
  readonly #url: URL;
  readonly #isPath: boolean;

  constructor(text: string) {
    this.#isPath = text.startsWith("/");
    if (!this.#isPath && !URL.canParse(text)) throw new Error(`URL parse error during conversion from string: ${text}`);
    this.#url = new URL(text, "http://host");
  }

  part(name: "Scheme" | "Host" | "Hostname" | "Port" | "EscapedPath"): string {
    const { protocol, host, hostname, port, pathname } = this.#url;
    if (name === "EscapedPath") return pathname;
    if (this.#isPath) return "";
    return { Scheme: protocol.slice(0, -1), Host: host, Hostname: hostname, Port: port }[name];
  }
}

const LITERALS =
  /([rR]"""[\s\S]*?"""|[rR]'''[\s\S]*?'''|"""[\s\S]*?"""|'''[\s\S]*?'''|[rR]"[^"]*"|[rR]'[^']*'|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\.(\s*)matches(?=\s*\()/g;

/** The library's `matches` is JavaScript's, which takes exponential time: rules have RE2's. */
export function withLinearMatches(rule: string): string {
  return rule.replace(LITERALS, (all, literal: string | undefined, blank = "") =>
    literal === undefined ? `.${blank}matchesRe2` : all,
  );
}
