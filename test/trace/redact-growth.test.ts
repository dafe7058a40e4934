import { expect, test } from "vitest";
import { redactBody } from "../../src/trace/redaction/redact-body.js";
import { redactArguments, redactText } from "../../src/trace/redaction/redact-text.js";
import { Secrets } from "../../src/trace/redaction/secrets.js";
import { growth, repeated } from "../support/growth.js";

const PARTS = [
  "token=",
  "token%3D",
  "--token ",
  "--token+",
  "token+",
  "--token&command=",
  "api_key='",
  "token'",
  "token: ",
  '"token":"',
  `"token":'token":"`,
  '\\"token\\": \\"',
  "\ntoken: x",
  "\n  - ",
  "token: |\n ",
  "\n token: >\n",
  "token\t",
  "****token=",
  "-----BEGIN PRIVATE KEY-----",
  "-----BEGIN PRIVATE KEY-----\n-----END EC PRIVATE KEY-----",
  "-----BEGIN PRIVATE ",
  "LS0tLS1CRUdJTiB",
  "eyJ",
  "eyJaaaaaaaa.",
  "-eyJ",
  "Authorization: Basic ",
  "Authorization:+",
  "Bearer ",
  "bearer+",
  "bearer a",
  "://a",
  "://a:",
  "%3A%2F%2Fa%3A",
  "abcdef.0123456789abcdef",
  "events/a",
  "%20",
  "-",
  "a",
];

test.each(PARTS)("redact: the time for a text of %j is linear", (part) => {
  for (const tail of ["****", "\u0001"])
    expect(growth(redactText, repeated(part, { head: "/@ password=", tail }))).toBeLessThan(10);
});

test("redact: the time for private keys of many types is linear", () => {
  const key = (i: number) => `-----BEGIN ${i.toString(26).replace(/\d/g, "Z").toUpperCase()} PRIVATE KEY-----`;
  const keys = (length: number) => Array.from({ length: length / 40 }, (_, i) => key(i)).join("");
  expect(growth(redactText, keys)).toBeLessThan(10);
});

test.each([
  ["arguments", (text: string) => redactArguments(["--token", "x", text])],
  ["a body", (text: string) => redactBody({ kind: "ConfigMap", data: { a: text } })],
  ["a text that is searched for learned values", (text: string) => learned().mask(text)],
] as const)("redact: the time for %s is linear", (_name, work) => {
  for (const part of ["token=", "s3cr3t-s3cr3t"])
    expect(growth(work, repeated(part, { tail: "****" }))).toBeLessThan(10);
});

function learned(): Secrets {
  const secrets = new Secrets();
  secrets.learn("s3cr3t-s3cr3t-s3cr3t");
  return secrets;
}
