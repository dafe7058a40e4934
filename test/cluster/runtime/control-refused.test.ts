import assert from "node:assert/strict";
import { request } from "node:http";
import { afterAll, beforeAll, test } from "vitest";
import { type ControlServer, serveControl } from "../../../src/cluster/runtime/control/http.js";
import { RuntimeLab } from "./lab.js";

const lab = new RuntimeLab();
let server: ControlServer;
beforeAll(async () => {
  server = await serveControl(lab.runtime.control, "127.0.0.1:0", lab.recorded.trace);
  lab.runtime.control.runPod({
    name: "web",
    namespace: "default",
    uid: "u1",
    sandboxId: "5a1d",
    containers: [
      { name: "main", image: "busybox", id: "c0de1", command: ["sleep", "600"] },
      { name: "side", image: "busybox", id: "c0de2", command: ["sleep", "600"] },
    ],
  });
  lab.runtime.control.setPullFault("team/", "denied");
});
afterAll(async () => {
  await server.close();
  lab.stop();
});

const POD = { name: "x", namespace: "y", uid: "z" };
const main = { name: "main", image: "busybox" };
const longLabel = "a".repeat(64);

/** Method, path, body, status, and the error's text. */
const REFUSED: readonly (readonly [string, string, unknown, number, RegExp])[] = [
  // unknown fields, and suggestions
  [
    "POST",
    "/faults/ListContainers",
    { delay: 5 },
    400,
    /has no field "delay": did you mean delayMs\? expected delayMs, hangs, code/,
  ],
  [
    "POST",
    "/faults/ListContainers",
    { fail: true },
    400,
    /has no field "fail": expected delayMs, hangs, code, message, count$/,
  ],
  ["POST", "/faults/ListContainers?hang=true", undefined, 400, /has no field "hang": did you mean hangs\?/],
  ["POST", "/faults/ListContainers", '{"__proto__":{"hangs":true}}', 400, /has no field "__proto__"/],
  ["POST", "/faults/ListContainers?__proto__=1", { hangs: true }, 400, /has no field "__proto__"/],
  ["POST", "/sandboxes/5a1d/not-ready", { silently: true }, 400, /takes no fields, and was given "silently"/],
  [
    "POST",
    "/pods",
    { ...POD, containers: [{ ...main, imag: "x" }] },
    400,
    /containers\[0\] has no field "imag": did you mean image\?/,
  ],
  ["DELETE", "/faults", { rpc: "Version" }, 400, /DELETE \/faults takes no fields/],
  ["GET", "/state?pods=1", undefined, 400, /GET \/state takes no fields/],
  // nothing to do, or contradictions
  ["POST", "/faults/ListContainers", {}, 400, /has nothing to do: expected at least one of delayMs, hangs, code/],
  ["POST", "/faults/ListContainers", { hangs: false, count: 2 }, 400, /has nothing to do/],
  ["POST", "/faults/ListContainers", { delayMs: 5, message: "no" }, 400, /message needs code, which is missing/],
  ["POST", "/faults/ListContainers", { hangs: true, code: "Internal" }, 400, /hangs and code exclude each other/],
  ["POST", "/containers/c0de1/kill", { oom: true, exitCode: 3 }, 400, /exclude each other/],
  ["POST", "/pulls", {}, 400, /has nothing to do: expected at least one of ms, fail/],
  ["POST", "/pulls", { ms: 5, image: "nginx" }, 400, /image needs fail/],
  ["POST", "/faults/Version?delayMs=5", { delayMs: 6 }, 400, /"delayMs" is given twice/],
  ["POST", "/faults/Version?delayMs=5&delayMs=6", undefined, 400, /"delayMs" is given twice/],
  ["POST", "/faults/Version", '{"delayMs":5, "delay\\u004ds" :6}', 400, /"delayMs" is given twice/],
  [
    "POST",
    "/pods",
    '{"name":"x","namespace":"y","uid":"z","containers":[{"name":"m","image":"a","image":"b"}]}',
    400,
    /"image" is given twice/,
  ],
  // long or deep input is cut short
  ["POST", "/faults/Version", { ["x".repeat(500_000)]: 1 }, 400, /has no field "xxx/],
  ["POST", "/faults/Version", { code: "x".repeat(500_000) }, 400, /code cannot be "xxx/],
  ["POST", "/faults/Version", `{"delayMs":${"[".repeat(200_000)}${"]".repeat(200_000)}}`, 400, /more than 20 levels/],
  ["POST", "/pods", { ...POD, containers: Array(100_000).fill(7) }, 400, /more than 10000 values/],
  // wrong types and ranges
  ["POST", "/faults/Version", { delayMs: "5" }, 400, /expected delayMs to be a whole number from 0 to \d+, not "5"/],
  ["POST", "/faults/Version", { delayMs: -1 }, 400, /not -1/],
  ["POST", "/faults/Version", { delayMs: 1.5 }, 400, /not 1\.5/],
  ["POST", "/faults/Version", { delayMs: null }, 400, /not null/],
  ["POST", "/faults/Version", { delayMs: 1e12 }, 400, /not 1000000000000/],
  ["POST", "/faults/Version?delayMs=soon", undefined, 400, /expected delayMs .* not "soon"/],
  ["POST", "/faults/Version?delayMs=-5", undefined, 400, /expected delayMs .* not -5/],
  ["POST", "/faults/Version", { hangs: "yes" }, 400, /expected hangs to be true or false, not "yes"/],
  ["POST", "/faults/Version", { hangs: true, count: 0 }, 400, /expected count to be a whole number from 1/],
  ["POST", "/faults/Version", { code: "Nope" }, 400, /code cannot be "Nope": expected one of Canceled, /],
  ["POST", "/faults/Version", { code: "internal" }, 400, /did you mean Internal\?/],
  ["POST", "/faults/Version", { code: "OK" }, 400, /code cannot be "OK"/],
  [
    "POST",
    "/containers/c0de1/kill",
    { exitCode: 256 },
    400,
    /expected exitCode to be a whole number from 0 to 255, not 256/,
  ],
  ["POST", "/containers/c0de1/kill", { signal: "SIGNOPE" }, 400, /signal "SIGNOPE" is not valid/],
  ["POST", "/containers/c0de1/remove", { silently: 1 }, 400, /expected silently to be true or false/],
  ["POST", "/events/drop", { count: 0 }, 400, /expected count/],
  ["POST", "/pulls", { fail: "not_found" }, 400, /did you mean not-found\?/],
  ["POST", "/pulls", { ms: 5, fail: 7 }, 400, /fail cannot be 7/],
  // pods that no API server would accept, and that leave nothing behind
  ["POST", "/pods", { name: "x" }, 400, /namespace is missing/],
  ["POST", "/pods", { ...POD, name: "Web_1" }, 400, /name "Web_1" is not valid: a lowercase RFC 1123 subdomain/],
  ["POST", "/pods", { ...POD, name: "" }, 400, /name "" is not valid/],
  ["POST", "/pods", { ...POD, namespace: "kube.system" }, 400, /namespace .* must not contain dots/],
  ["POST", "/pods", { ...POD, namespace: longLabel }, 400, /no more than 63/],
  ["POST", "/pods", { ...POD, uid: "" }, 400, /uid "" is not valid: must not be empty/],
  ["POST", "/pods", { ...POD, uid: "../../etc" }, 400, /uid .* must not contain slashes/],
  ["POST", "/pods", { ...POD, uid: "é".repeat(128) }, 400, /no more than 255 bytes/],
  ["POST", "/pods", { ...POD, uid: ".." }, 400, /uid .* must not be/],
  ["POST", "/pods", { ...POD, sandboxId: "../x" }, 400, /sandboxId .* is not valid/],
  ["POST", "/pods", { ...POD, sandboxId: "c0de1" }, 409, /the ID "c0de1" is in use/],
  ["POST", "/pods", { ...POD, hostname: "a.b" }, 400, /hostname .* must not contain dots/],
  ["POST", "/pods", { ...POD, attempt: -1 }, 400, /expected attempt/],
  ["POST", "/pods", { ...POD, logDirectory: "logs" }, 400, /logDirectory .* absolute/],
  ["POST", "/pods", { ...POD, labels: { "a b": "c" } }, 400, /the key "a b" of labels is not valid/],
  ["POST", "/pods", { ...POD, labels: { "io.kubernetes.pod.uid": "u" } }, 400, /gets this label/],
  ["POST", "/pods", { ...POD, labels: { app: "a b" } }, 400, /labels\["app"\] "a b" is not valid/],
  ["POST", "/pods", { ...POD, labels: { app: 7 } }, 400, /expected labels\["app"\] to be text, not 7/],
  ["POST", "/pods", { ...POD, containers: [7] }, 400, /expected containers\[0\] to be an object, not 7/],
  ["POST", "/pods", { ...POD, containers: {} }, 400, /expected containers to be a list of objects/],
  ["POST", "/pods?containers=x", POD, 400, /containers is a list of objects: it can be given in the body only/],
  ["POST", "/pods", { ...POD, containers: [main, { name: "two" }] }, 400, /containers\[1\]\.image is missing/],
  [
    "POST",
    "/pods",
    { ...POD, containers: [{ ...main, image: "../../etc" }] },
    400,
    /containers\[0\]\.image .*invalid reference format/,
  ],
  [
    "POST",
    "/pods",
    { ...POD, containers: [{ ...main, name: "Main" }] },
    400,
    /containers\[0\]\.name "Main" is not valid/,
  ],
  [
    "POST",
    "/pods",
    { ...POD, containers: [{ ...main, env: { "1": "x" } }] },
    400,
    /the key "1" of containers\[0\]\.env/,
  ],
  [
    "POST",
    "/pods",
    { ...POD, containers: [{ ...main, command: "sleep" }] },
    400,
    /expected containers\[0\]\.command to be a list of texts/,
  ],
  ["POST", "/pods", { ...POD, containers: [{ ...main, state: "exited" }] }, 400, /state cannot be "exited"/],
  ["POST", "/pods", { ...POD, containers: [main, main] }, 400, /two containers are named "main"/],
  [
    "POST",
    "/pods",
    { ...POD, logDirectory: "/tmp/x", containers: [{ ...main, logPath: "../../y" }] },
    400,
    /outside the log directory/,
  ],
  [
    "POST",
    "/pods",
    {
      ...POD,
      containers: [
        { name: "new", image: "quay.io/a/b" },
        { ...main, command: ["/no/such"] },
      ],
    },
    409,
    /\/no\/such/,
  ],
  [
    "POST",
    "/pods",
    { ...POD, logDirectory: "/proc/no/such", containers: [{ ...main, logPath: "x.log" }] },
    409,
    /\/proc\/no/,
  ],
  ["POST", "/pods", { name: "web", namespace: "default", uid: "u1" }, 409, /is reserved for/],
  ["POST", "/sandboxes/5a1d/containers", { name: "n", image: "quay.io/a/b", command: ["/no/such"] }, 409, /\/no\/such/],
  ["POST", "/sandboxes/5a1d/containers", { name: "n", image: "A B" }, 400, /image "A B" is not valid/],
  // unknown names
  [
    "POST",
    "/containers/none/kill",
    undefined,
    404,
    /"none": not found; there are sandboxes 5a1d \(default\/web\) and containers c0de1 \(default\/web main\), c0de2/,
  ],
  ["POST", "/containers/c0de/kill", undefined, 400, /multiple IDs/],
  ["POST", "/sandboxes/c0de1/remove", undefined, 404, /there are sandboxes 5a1d/],
  ["POST", "/containers/c0de1/start", undefined, 409, /RUNNING/],
  ["POST", "/containers/%zz/kill", undefined, 400, /"%zz" in the path is not percent-encoded/],
  [
    "POST",
    "/faults/ListContainer",
    { hangs: true },
    400,
    /no rpc named "ListContainer": did you mean ListContainers\? expected \* or one of Attach, /,
  ],
  ["DELETE", "/faults/listcontainers", undefined, 400, /did you mean ListContainers\?/],
  [
    "POST",
    "/conditions/networkready",
    undefined,
    400,
    /did you mean NetworkReady\? expected RuntimeReady or NetworkReady/,
  ],
  ["DELETE", "/pulls?image=teams/", undefined, 404, /did you mean team\/\? expected team\//],
  ["GET", "/nothing", undefined, 404, /there is nothing at "\/nothing": .*GET \/ lists all routes/],
  ["POST", "/pod", POD, 404, /did you mean \/pods\?/],
  ["GET", "//", undefined, 404, /there is nothing at/],
  // other methods
  ["GET", "/containers/c0de1/kill", undefined, 405, /does not support GET: expected POST$/],
  ["PUT", "/faults/Version", { hangs: true }, 405, /expected POST, DELETE$/],
  ["OPTIONS", "/state", undefined, 405, /expected GET$/],
  ["POST", "/changes", undefined, 405, /expected GET$/],
  ["DELETE", "/", undefined, 405, /expected GET$/],
  // invalid bodies
  ["POST", "/pods", "not json", 400, /the body "not json" is not JSON: send a JSON object/],
  ["POST", "/pods", "[]", 400, /the body \[\] is not a JSON object/],
  ["POST", "/faults/Version", "delayMs=5", 400, /\?delayMs=5 for/],
];

async function ask(method: string, path: string, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers,
    ...(text === undefined ? {} : { body: text }),
  });
  const value = (await response.json()) as { readonly error: string; readonly field?: string };
  return { status: response.status, headers: response.headers, ...value };
}

for (const [method, path, body, status, message] of REFUSED) {
  const shown = typeof body === "string" ? body : (JSON.stringify(body) ?? "");
  test(`${method} ${path} ${shown.slice(0, 90)}: ${status}`, async () => {
    const { control } = lab.runtime;
    const before = control.snapshot();
    const answer = await ask(method, path, body);
    assert.match(answer.error, message);
    assert.equal(answer.status, status);
    assert.equal(answer.headers.get("allow") !== null, status === 405);
    assert.ok(!answer.error.includes("\n"), "one sentence");
    assert.deepEqual(control.snapshot(), before, "nothing was done");
  });
}

test("an error about one field contains its path", async () => {
  const { field } = await ask("POST", "/pods", { ...POD, containers: [{ ...main, image: "" }] });
  assert.equal(field, "containers[0].image");
});

const TYPES: readonly (readonly [Record<string, string>, number])[] = [
  [{ "content-type": "application/json" }, 200],
  [{ "content-type": "application/json; charset=UTF-8" }, 200],
  [{ "content-type": "application/x-www-form-urlencoded" }, 200],
  [{ "content-type": "application/json; charset=latin1" }, 415],
  [{ "content-type": "application/yaml" }, 415],
  [{ "content-type": "multipart/form-data; boundary=x" }, 415],
  [{ "content-type": "application/json", "content-encoding": "gzip" }, 415],
];
for (const [headers, status] of TYPES) {
  test(`a body that says ${JSON.stringify(headers)}: ${status}`, async () => {
    const answer = await ask("POST", "/faults/Version", { hangs: true }, headers);
    lab.runtime.control.clearFaults();
    assert.equal(answer.status, status);
    if (status === 415) assert.match(answer.error, /is not accepted: /);
  });
}

/** A request with these bytes, with or without a content-length. */
function send(bytes: Buffer, headers: Record<string, string | number>): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(server.url);
    const options = { host: "127.0.0.1", port, path: "/faults/Version", method: "POST", headers };
    const sent = request(options, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += String(chunk);
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.once("error", reject);
    sent.end(bytes);
  });
}

test("a body that is too big is refused, with and without content-length", async () => {
  const bytes = Buffer.alloc(1024 * 1024 + 1, " ");
  for (const headers of [{ "content-length": bytes.length }, { "transfer-encoding": "chunked" }]) {
    const { status, text } = await send(bytes, headers as Record<string, string | number>);
    assert.equal(status, 413);
    assert.match(text, /the body is too big: at most 1048576 bytes/);
  }
});

test("a body that is not UTF-8 is refused", async () => {
  const { status, text } = await send(Buffer.from([0x7b, 0xff, 0x7d]), {});
  assert.deepEqual([status, /the body is not UTF-8/.test(text)], [400, true]);
});

test("DELETE /pulls removes all pull faults and restores the original duration", async () => {
  const { control } = lab.runtime;
  const before = control.snapshot().pulls;
  assert.deepEqual(before.faults, [{ image: "team/", how: "denied" }]);
  assert.equal((await ask("POST", "/pulls", { ms: 5, fail: "unreachable" })).status, 200);
  assert.equal(control.snapshot().pulls.faults.length, 2);
  assert.equal((await ask("DELETE", "/pulls", undefined)).status, 200);
  assert.deepEqual(control.snapshot().pulls, { ms: before.ms, faults: [] });
});
