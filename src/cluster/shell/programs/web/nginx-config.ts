import type { RE2JS } from "re2js";
import { FsError } from "../../fs/fs-error.js";
import { baseName, resolvePath } from "../../fs/paths.js";
import { compileGlob, matchesAll } from "../../language/expansion/glob.js";
import { runNow } from "../../language/expansion/patterns.js";
import type { Self } from "../../process/process.js";

/** A mistake in the configuration: what nginx prints after `[emerg]`. */
export class NginxProblem extends Error {
  override readonly name = "NginxProblem";
}

interface Directive {
  readonly name: string;
  readonly args: readonly string[];
  readonly block: readonly Directive[] | undefined;
  /** `/etc/nginx/nginx.conf:3` */
  readonly place: string;
}

/** What a server or a location does with a request. */
export interface Settings {
  readonly root: string;
  /** takes the place of the location's prefix */
  readonly alias?: string;
  /** `return 200 "text";`, `return 301 /new;`, `deny all;` */
  readonly answer?: { readonly status: number; readonly text: string };
  readonly tryFiles?: readonly string[];
  readonly hasLog: boolean;
}

export interface Location extends Settings {
  readonly kind: "exact" | "prefix" | "final-prefix" | "regex";
  readonly prefix: string;
  readonly pattern: RE2JS | undefined;
}

/** A server block. */
export interface Server extends Settings {
  readonly sockets: readonly { readonly port: number; readonly address: string | undefined }[];
  readonly names: readonly string[];
  readonly locations: readonly Location[];
}

const MAX_DEPTH = 32;
const MAX_FILES = 100;
/** Directives that would change the answer, and are refused with a warning. A location with one answers 502 or 501. */
const REFUSED = /^(\w+_pass|rewrite|if|auth_basic|auth_request|stub_status|sub_filter|limit_except|perl|js_content)$/;
const TOKEN = /\s+|#[^\n]*|([{};])|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|((?:\$\{\w+\}|[^\s{};"'\\]|\\.)+)/gsy;

/**
 * Reads the servers of a configuration, with its includes.
 * @param compile of regular expressions; undefined: none is known yet
 * @param warn gets each directive that our nginx cannot do
 * @throws NginxProblem
 */
export function readServers(
  self: Self,
  path: string,
  compile: typeof RE2JS.compile | undefined,
  warn: (text: string) => void,
): readonly Server[] {
  let files = 0;
  const load = (file: string, depth: number): readonly Directive[] => {
    files++;
    if (files > MAX_FILES || depth > MAX_DEPTH) throw new NginxProblem(`too many included files in ${file}`);
    return parse(readFile(self, file), file).flatMap((one) => expand(one, depth));
  };
  const expand = (one: Directive, depth: number): readonly Directive[] => {
    if (one.name === "include")
      return one.args.flatMap((pattern) => includedFiles(self, path, pattern)).flatMap((file) => load(file, depth + 1));
    const block = one.block?.flatMap((inner) => expand(inner, depth));
    return [{ ...one, block }];
  };
  const http = load(path, 0).flatMap(({ name, block }) => (name === "http" ? (block ?? []) : []));
  const base = settingsOf(http, { root: "/etc/nginx/html", hasLog: true }, warn);
  return http.flatMap(({ name, block }) => (name === "server" ? [serverOf(block ?? [], base, compile, warn)] : []));
}

function readFile({ machine: { fs } }: Self, path: string): string {
  try {
    return fs.readFile(path).toString();
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
    throw new NginxProblem(`open() "${path}" failed (${error.code === "ENOENT" ? 2 : 13}: ${error.text})`);
  }
}

const dirName = (path: string) => path.slice(0, Math.max(1, path.lastIndexOf("/")));

/** The files of an include: a pattern may match none, but a name must exist. */
function includedFiles({ machine: { fs } }: Self, config: string, pattern: string): readonly string[] {
  const path = resolvePath(dirName(config), pattern);
  // Our image has no table of types.
  if (/\/(mime\.types|fastcgi_params|proxy_params)$/.test(path) && !fs.exists(path)) return [];
  if (!/[*?[]/.test(pattern)) return [path];
  const folder = dirName(path);
  if (!fs.exists(folder)) return [];
  const glob = compileGlob([{ text: baseName(path), isQuoted: false }]);
  return fs
    .readdir(folder)
    .filter((name) => runNow(matchesAll(glob, name)))
    .map((name) => resolvePath(folder, name));
}

function parse(text: string, file: string): readonly Directive[] {
  const stack: { head: { name: string; args: readonly string[]; place: string } | undefined; inner: Directive[] }[] = [
    { head: undefined, inner: [] },
  ];
  let words: string[] = [];
  let line = 1;
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    const place = `${file}:${line}`;
    if (match === null) throw new NginxProblem(`unexpected "${text[at]}" in ${place}`);
    line += match[0].split("\n").length - 1;
    const [, sign, double, single, plain] = match;
    const word = (double ?? single)?.replace(/\\(["'\\])/g, "$1").replaceAll("\\n", "\n") ?? plain;
    if (word !== undefined) words.push(word);
    if (sign === undefined) continue;
    const [name, ...args] = words;
    words = [];
    const current = stack.at(-1);
    if (sign === "}") {
      const ended = stack.pop();
      if (name !== undefined || ended?.head === undefined) throw new NginxProblem(`unexpected "}" in ${place}`);
      stack.at(-1)?.inner.push({ ...ended.head, block: ended.inner });
    } else if (name === undefined) throw new NginxProblem(`unexpected "${sign}" in ${place}`);
    else if (sign === ";") current?.inner.push({ name, args, block: undefined, place });
    else if (stack.length > MAX_DEPTH) throw new NginxProblem(`too many blocks in ${place}`);
    else stack.push({ head: { name, args, place }, inner: [] });
  }
  if (stack.length > 1 || words.length > 0)
    throw new NginxProblem(
      `unexpected end of file, expecting ${words.length > 0 ? '";" or "}"' : '"}"'} in ${file}:${line}`,
    );
  return stack[0]?.inner ?? [];
}

function serverOf(
  block: readonly Directive[],
  base: Settings,
  compile: typeof RE2JS.compile | undefined,
  warn: (text: string) => void,
): Server {
  const settings = settingsOf(block, base, warn);
  const listens = block.flatMap(({ name, args: [first = ""] }) => {
    const [, address, port] = /^(?:([\d.]+|\*|\[[^\]]*\]):)?(\d+)$/.exec(first) ?? [];
    if (name !== "listen" || port === undefined || address?.startsWith("[") === true) return [];
    return [{ port: Number(port), address: address === "*" || address === "0.0.0.0" ? undefined : address }];
  });
  const locations = block.flatMap((one) => (one.name === "location" ? [locationOf(one, settings, compile, warn)] : []));
  const names = block.flatMap(({ name, args }) => (name === "server_name" ? args : []));
  const sockets =
    listens.length > 0 || block.some(({ name }) => name === "listen") ? listens : [{ port: 80, address: undefined }];
  return { ...settings, sockets, names, locations };
}

const KINDS: Readonly<Record<string, Location["kind"]>> = {
  "=": "exact",
  "^~": "final-prefix",
  "~": "regex",
  "~*": "regex",
};

function locationOf(
  { args, block = [] }: Directive,
  base: Settings,
  compile: typeof RE2JS.compile | undefined,
  warn: (text: string) => void,
): Location {
  const sign = args.length > 1 ? (args[0] ?? "") : "";
  const prefix = args.at(-1) ?? "";
  const kind = KINDS[sign] ?? "prefix";
  const pattern = kind === "regex" ? compile?.(`${sign === "~*" ? "(?i)" : ""}${prefix}`) : undefined;
  const { answer: _, ...inherited } = base;
  return { ...settingsOf(block, inherited, warn), kind, prefix, pattern };
}

function settingsOf(block: readonly Directive[], base: Settings, warn: (text: string) => void): Settings {
  let settings = base;
  for (const { name, args, place } of block) {
    const [first = "", ...rest] = args;
    if (name === "root") settings = { ...settings, root: first.replace(/\/$/, "") };
    else if (name === "alias") settings = { ...settings, alias: first };
    else if (name === "access_log") settings = { ...settings, hasLog: first !== "off" };
    else if (name === "try_files") settings = { ...settings, tryFiles: args };
    else if (name === "deny" && first === "all") settings = { ...settings, answer: { status: 403, text: "" } };
    else if (name === "return") {
      const isStatus = /^\d{3}$/.test(first);
      settings = {
        ...settings,
        answer: { status: isStatus ? Number(first) : 302, text: isStatus ? rest.join(" ") : first },
      };
    } else if (REFUSED.test(name)) {
      warn(`kubelab's nginx cannot do "${name}" in ${place}`);
      settings = { ...settings, answer: { status: name.endsWith("_pass") ? 502 : 501, text: "" } };
    }
  }
  return settings;
}

/** The settings for a path. Mirrors ngx_http_core_find_location: exact, then the longest prefix, unless a regular expression matches. */
export function settingsFor({ locations, ...server }: Server, path: string): Settings & { readonly prefix?: string } {
  const exact = locations.find(({ kind, prefix }) => kind === "exact" && prefix === path);
  if (exact !== undefined) return exact;
  const [longest] = locations
    .filter(({ kind, prefix }) => (kind === "prefix" || kind === "final-prefix") && path.startsWith(prefix))
    .sort((a, b) => b.prefix.length - a.prefix.length);
  if (longest?.kind === "final-prefix") return longest;
  return locations.find(({ pattern }) => pattern?.matcher(path).find() === true) ?? longest ?? server;
}
