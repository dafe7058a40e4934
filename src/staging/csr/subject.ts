import { LabError } from "../../util/errors.js";
import type { DistinguishedName } from "../pki/name.js";

/** The attributes of a subject, by openssl's short names. */
const ATTRIBUTES = {
  C: "country",
  O: "organization",
  OU: "organizationalUnit",
  L: "locality",
  ST: "province",
} as const;

/** Parses `/O=system:nodes/CN=system:node:n1`, like openssl's -subj (`\/` is a slash). @throws LabError USAGE */
export function parseSubject(text: string): DistinguishedName {
  const lists: Record<string, string[]> = { organization: [] };
  let commonName = "";
  const wrong = (why: string) =>
    new LabError(
      "USAGE",
      `--subject ${JSON.stringify(text)}: ${why}`,
      "Write it like /O=system:nodes/CN=system:node:n1",
    );
  if (!text.startsWith("/")) throw wrong("it does not begin with a slash");
  for (const part of text.slice(1).split(/(?<!\\)\//)) {
    const [, type = "", value = ""] = /^([A-Za-z]+)=([\s\S]+)$/.exec(part) ?? [];
    if (type === "") throw wrong(`${JSON.stringify(part)} is not NAME=VALUE`);
    const unescaped = value.replace(/\\(.)/g, "$1");
    if (type === "CN") {
      commonName = unescaped;
      continue;
    }
    if (!(type in ATTRIBUTES)) throw wrong(`known are CN, ${Object.keys(ATTRIBUTES).join(", ")}, not ${type}`);
    const field = ATTRIBUTES[type as keyof typeof ATTRIBUTES];
    lists[field] = [...(lists[field] ?? []), unescaped];
  }
  return { commonName, organization: [], ...lists };
}
