import assert from "node:assert/strict";
import { test } from "vitest";
import { isLoopback, parseEndpoint } from "../../../../src/staging/cri/grpc/endpoint.js";
import { LabError } from "../../../../src/util/errors.js";
import { missingPath } from "../../../support/missing-path.js";
import { openChannel } from "../support.js";

const good = [
  ["unix:///run/x.sock", { kind: "unix", path: "/run/x.sock", url: "unix:///run/x.sock" }],
  ["unix:/run/x.sock", { kind: "unix", path: "/run/x.sock", url: "unix:///run/x.sock" }],
  ["UNIX:///run/x.sock", { kind: "unix", path: "/run/x.sock", url: "unix:///run/x.sock" }],
  ["tcp://127.0.0.1:4000", { kind: "tcp", host: "127.0.0.1", port: 4000, url: "tcp://127.0.0.1:4000" }],
  ["tcp://[::1]:4000/", { kind: "tcp", host: "::1", port: 4000, url: "tcp://[::1]:4000" }],
  ["tcp://node-1.example:4000", { kind: "tcp", host: "node-1.example", port: 4000, url: "tcp://node-1.example:4000" }],
  [
    "/run/x.sock",
    {
      kind: "unix",
      path: "/run/x.sock",
      url: "unix:///run/x.sock",
      warning: "endpoint /run/x.sock: this form is deprecated, write unix:///run/x.sock",
    },
  ],
] as const;
for (const [text, want] of good) {
  test(`endpoint ${text}`, () => assert.deepEqual(parseEndpoint(text), want));
}

const bad = [
  ["", /neither a URL nor an absolute path/],
  ["run/x.sock", /neither a URL nor an absolute path/],
  ["unix://run/x.sock", /must be absolute/],
  ["unix://", /must be absolute/],
  [`unix:///${"x".repeat(107)}`, /at most 107 bytes, and this one has 108/],
  [`/${"é".repeat(54)}`, /at most 107 bytes, and this one has 109/],
  ["unix:///run/x\0.sock", /zero byte/],
  ["tcp://127.0.0.1", /not of the form tcp:/],
  ["tcp://127.0.0.1:70000", /not of the form tcp:/],
  ["tcp://:4000", /not of the form tcp:/],
  ["tcp://::1:4000", /not of the form tcp:/],
  ["tcp://127.0.0.1:4000/path", /not of the form tcp:/],
  ["http://127.0.0.1:4000", /protocol "http" is not supported/],
  ["npipe:////./pipe/x", /protocol "npipe" is not supported/],
] as const;
for (const [text, why] of bad) {
  test(`endpoint ${JSON.stringify(text).slice(0, 40)} is refused`, () => {
    assert.throws(
      () => parseEndpoint(text),
      (error) => error instanceof LabError && error.code === "USAGE" && why.test(error.message),
    );
  });
}

test("a plain path is taken with a warning, as upstream does", () => {
  const path = missingPath("x.sock");
  const { events } = openChannel(path);
  assert.deepEqual(
    events.map((event) => [event.kind, event.kind === "note" ? event.text : "", event.level]),
    [["note", `endpoint ${path}: this form is deprecated, write unix://${path}`, 0]],
  );
});

for (const [text, want] of [
  ["unix:///x", true],
  ["tcp://127.8.9.1:1", true],
  ["tcp://[::1]:1", true],
  ["tcp://localhost:1", true],
  ["tcp://0.0.0.0:1", false],
  ["tcp://[::]:1", false],
  ["tcp://127.0.0.1.example.com:1", false],
] as const) {
  test(`${text} is ${want ? "" : "not "}loopback`, () => assert.equal(isLoopback(parseEndpoint(text)), want));
}
