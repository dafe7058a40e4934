import { encodeText } from "../../byte-text.js";
import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";
import type { NetOptions, OptionTable } from "./options.js";

/** What curl accepts here. Options that have no meaning in the pod network are accepted and do nothing. */
export const CURL_OPTIONS: OptionTable = {
  cacert: ":",
  capath: ":",
  cert: "E:",
  compressed: "",
  "connect-timeout": ":",
  data: "d:",
  "data-ascii": ":",
  "data-binary": ":",
  "data-raw": ":",
  "data-urlencode": ":",
  fail: "f",
  "fail-with-body": "",
  get: "G",
  globoff: "g",
  head: "I",
  header: "H:",
  "http1.0": "0",
  "http1.1": "",
  include: "i",
  insecure: "k",
  interface: ":",
  ipv4: "4",
  ipv6: "6",
  json: ":",
  key: ":",
  location: "L",
  "max-redirs": ":",
  "max-time": "m:",
  "no-buffer": "N",
  "no-keepalive": "",
  "no-progress-meter": "",
  noproxy: ":",
  output: "o:",
  proxy: "x:",
  disable: "q",
  referer: "e:",
  "remote-name": "O",
  request: "X:",
  resolve: ":",
  retry: ":",
  "retry-connrefused": "",
  "retry-delay": ":",
  "retry-max-time": ":",
  "show-error": "S",
  silent: "s",
  url: ":",
  user: "u:",
  "user-agent": "A:",
  verbose: "v",
  version: "V",
  "write-out": "w:",
};

/** The body that the options give; undefined without one. A name that begins with `@` is a file's. @throws FsError */
export function requestBody(self: Self, options: NetOptions): Buffer | undefined {
  const read = (value: string, keepsLines: boolean) => {
    if (!value.startsWith("@")) return encodeText(value);
    const bytes = self.machine.fs.readFile(resolvePath(self.cwd, value.slice(1)));
    return keepsLines ? bytes : Buffer.from(bytes.toString("latin1").replace(/[\r\n]/g, ""), "latin1");
  };
  const parts = [
    ...["data", "data-ascii"].flatMap((name) => options.all(name).map((value) => read(value, false))),
    ...["data-binary", "json"].flatMap((name) => options.all(name).map((value) => read(value, true))),
    ...options.all("data-raw").map(encodeText),
    ...options.all("data-urlencode").map((value) => Buffer.from(urlEncoded(value))),
  ];
  if (parts.length === 0) return undefined;
  return parts.reduce((all, part) => Buffer.concat([all, Buffer.from("&"), part]));
}

function urlEncoded(value: string): string {
  const at = value.indexOf("=");
  return at < 0
    ? encodeURIComponent(value)
    : `${value.slice(0, at + 1)}${encodeURIComponent(value.slice(at + 1))}`.replace(/^=/, "");
}

/** Headers in curl's order; a header of the user's replaces curl's, and one without a value removes it. */
export function requestHeaders(
  options: NetOptions,
  own: readonly (readonly [string, string])[],
): readonly (readonly [string, string])[] {
  const given = options.all("header").map((line): readonly [string, string] => {
    const at = line.search(/[:;]/);
    return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).trim()];
  });
  const names = given.map(([name]) => name.toLowerCase());
  return [...own.filter(([name]) => !names.includes(name.toLowerCase())), ...given.filter(([, value]) => value !== "")];
}
