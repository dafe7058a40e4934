import assert from "node:assert/strict";
import { test } from "vitest";
import { clientOf } from "../../../src/lab/envtest/client.js";
import type { KubeClient } from "../../../src/staging/client-go/rest/client.js";

/** A client that sends nothing. */
const client = clientOf({
  request: () => assert.fail("sent a request"),
  expect: () => assert.fail("sent a request"),
  watch: () => assert.fail("began a watch"),
} as unknown as KubeClient);

/** What a program in JavaScript can pass. */
const anything = (value: unknown) => value as never;

for (const [what, call, message, hint] of [
  [
    "no method",
    () => client.expect(anything({ path: "/api" })),
    "client.expect: option method is missing",
    /method, path/,
  ],
  [
    "no path",
    () => client.request(anything({ method: "GET" })),
    "client.request: option path is missing",
    /method, path/,
  ],
  [
    "nothing",
    () => client.request(anything(undefined)),
    "client.request: expected an object of options",
    /method, path/,
  ],
  [
    "another method",
    () => client.expect(anything({ method: "get", path: "/" })),
    'client.expect: option method is "get"',
    /GET, POST/,
  ],
  [
    "a relative path",
    () => client.expect({ method: "GET", path: "api" }),
    'client.expect: option path is "api"',
    /a path/,
  ],
  [
    "a misspelt option",
    () => client.expect(anything({ method: "GET", path: "/", bdy: 1 })),
    "client.expect: unknown option bdy",
    /mean body/,
  ],
  [
    "a watch without a path",
    async () => client.watch(anything(undefined)),
    "client.watch: option path is missing",
    /path/,
  ],
  [
    "a wait without a path",
    () => client.waitFor(anything(undefined), () => true),
    "client.waitFor: option path is missing",
    /path/,
  ],
] as const) {
  test(`${what} is a usage error, and nothing is sent`, async () => {
    await assert.rejects(call, { code: "USAGE", message, hint });
  });
}
