import assert from "node:assert/strict";
import { test } from "vitest";
import { decodePem, encodePem } from "../../../src/staging/pki/pem.js";

const block = (type: string, text: string) => encodePem(type, Buffer.from(text));
const shown = (text: string) => decodePem(text).map(({ type, der }) => `${type}:${der}`);

const table: readonly (readonly [what: string, text: string, want: readonly string[]])[] = [
  ["nothing", "", []],
  ["two blocks with text around them", `a\n${block("A", "one")}b\n${block("B C", "two")}c`, ["A:one", "B C:two"]],
  ["no line feed at the end", block("A", "one").trimEnd(), ["A:one"]],
  ["carriage returns, and blanks after the beginning", block("A", "one").replace("-----\n", "----- \t\r\n"), ["A:one"]],
  ["headers", block("A", "one").replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\n\n"), ["A:one"]],
  ["a beginning without an end, before a block", `-----BEGIN X-----\n${block("A", "one")}`, ["A:one"]],
  ["an end of another type", "-----BEGIN X-----\nb25l\n-----END Y-----\n", []],
  ["invalid base64", "-----BEGIN X-----\n?!\n-----END X-----\n", []],
  ["content on the line of the beginning", "-----BEGIN X----- b25l\n-----END X-----\n", ["X:one"]],
  ["the older name of a request", block("NEW CERTIFICATE REQUEST", "one"), ["CERTIFICATE REQUEST:one"]],
];
for (const [what, text, want] of table) test(`PEM: ${what}`, () => assert.deepEqual(shown(text), want));
