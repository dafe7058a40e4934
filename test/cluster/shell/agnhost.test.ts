import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, onTestFinished, test } from "vitest";
import type { Container } from "../../../src/cluster/runtime/state/container.js";
import { NS_PER_UNIT } from "../../../src/cluster/shell/process/cpu.js";
import { duplexOf } from "../../../src/cluster/shell/process/duplex.js";
import { convertReview } from "../../../src/cluster/shell/programs/agnhost/crd-conversion-webhook.js";
import { answerTo } from "../../../src/cluster/shell/programs/agnhost/webhook.js";
import {
  GRPC_FRAME_HEADER_BYTES,
  grpcFrame,
  HEALTH_CHECK_PATH,
  HealthCheckRequest,
  HealthCheckResponse,
} from "../../../src/staging/server/grpc-health.js";
import { untilTrue } from "../../support/fake-clock.js";
import { makeAuthority, makeLeaf } from "../../support/https-server.js";
import { loadPrograms, never, RuntimeLab, stateOf } from "../runtime/lab.js";

let lab = new RuntimeLab();
const folder = mkdtempSync(join(tmpdir(), "kubelab-agnhost-"));
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
  rmSync(join(folder, "new"), { force: true });
});

const image = { image: "registry.k8s.io/e2e-test-images/agnhost:2.21" };
const agnhost = (...args: string[]) => {
  lab.core.images.add({ domain: "registry.k8s.io", path: "e2e-test-images/agnhost", tag: "2.21" });
  return lab.run({ image, args });
};
const sandboxIp = ({ sandbox }: Container) => sandbox.ip ?? "";

/** What `curl` in another pod gets from a path of the container. */
async function curl(from: Container, target: Container, path: string, port = 8080): Promise<string> {
  return (
    await lab.sh(`curl -g -q -s --connect-timeout 5 'http://${sandboxIp(target)}:${port}${path}'`, from)
  ).stdout.toString();
}

const OUTPUTS: readonly (readonly [string[], string])[] = [
  [["entrypoint-tester", "a", "b c"], "[/agnhost entrypoint-tester a b c]\n"],
  [["dns-suffix"], "svc.local,local\n"],
  [["dns-server-list"], "10.0.0.10\n"],
];
for (const [args, want] of OUTPUTS) {
  test(`agnhost ${args.join(" ")}`, async () => {
    const dnsConfig = { servers: ["10.0.0.10"], searches: ["svc.local", "local"], options: [] };
    const container = lab.run({ image: { image: "agnhost" }, args }, lab.sandbox({ dnsConfig }));
    const output = lab.output(container);
    await lab.settle();
    assert.equal(output(), want);
    assert.equal(stateOf(container), "exited (0, Completed)");
  });
}

const MOUNTTEST: readonly (readonly [string, string])[] = [
  ["--file_content=/mnt/old", 'content of file "/mnt/old": before'],
  ["--file_mode=/mnt/old", 'mode of file "/mnt/old": -r--r-----'],
  ["--file_perm=/mnt", 'perms of file "/mnt": -rwx------'],
  [
    "--new_file_0666=/mnt/new --file_perm=/mnt/new",
    'content of file "/mnt/new": mount-tester new file\n\nperms of file "/mnt/new": -rw-rw-rw-',
  ],
  ["--file_owner=/etc/passwd", 'owner UID of "/etc/passwd": 0\nowner GID of "/etc/passwd": 0'],
  ["--file_content=/none", 'error reading file content for "/none": no such file or directory'],
];
for (const [flags, want] of MOUNTTEST) {
  test(`agnhost mounttest ${flags}`, async () => {
    writeFileSync(join(folder, "old"), "before", { mode: 0o440 });
    const mounts = [{ containerPath: "/mnt", hostPath: folder }];
    const container = lab.run({ image: { image: "agnhost" }, args: ["mounttest", ...flags.split(" ")], mounts });
    const output = lab.output(container);
    await lab.settle();
    assert.equal(output(), `${want}\n`);
    assert.equal(stateOf(container).startsWith(flags.includes("/none") ? "exited (1" : "exited (0"), true);
  });
}

test("mounttest reads a file in a loop until its time is over", async () => {
  const container = lab.run({
    image: { image: "agnhost" },
    args: ["mounttest", "--break_on_expected_content=false", "--retry_time=5", "--file_content_in_loop=/mnt/later"],
    mounts: [{ containerPath: "/mnt", hostPath: folder }],
  });
  const output = lab.output(container);
  await lab.settle();
  assert.match(output(), /^Error reading file \/mnt\/later: open \/mnt\/later: no such file or directory, retrying\n$/);
  writeFileSync(join(folder, "later"), "now");
  await lab.clock.advance(6_000);
  assert.match(output(), /content of file "\/mnt\/later": now\n/);
  assert.equal(stateOf(container), "exited (0, Completed)");
});

test("netexec answers over HTTP and UDP, and dials other pods", async () => {
  const [server, client] = [agnhost("netexec"), agnhost("netexec", "--http-port=80")];
  await lab.settle();
  const paths: readonly (readonly [string, string])[] = [
    ["/hostname", server.sandbox.metadata.name],
    ["/clientip", `${sandboxIp(client)}:`],
    ["/echo?msg=hi+there", "hi there"],
    ["/shell?cmd=echo+out", '{"output":"out\\n"}'],
    ["/shell?cmd=exit+3", '{"error":"exit status 3"}'],
    ["//", "NOW: "],
    ["/redirect?code=9999", "RangeError"],
    ["/dial?host=localhost&port=1&request=x", '{"errors":["Get \\"http://localhost:1/x\\": dial tcp'],
  ];
  for (const [path, want] of paths) assert.ok((await curl(client, server, path)).startsWith(want), path);
  const dialed = `/dial?request=hostname&host=${sandboxIp(server)}&tries=2`;
  const names = JSON.stringify({ responses: [server.sandbox.metadata.name, server.sandbox.metadata.name] });
  assert.equal(await curl(server, client, `${dialed}&protocol=http&port=8080`, 80), names);
  assert.equal(await curl(server, client, `${dialed}&protocol=udp&port=8081`, 80), names);
  const udp = await lab.sh(`echo echo HI | nc -w 1 -u ${sandboxIp(server)} 8081`, client);
  assert.equal(udp.stdout.toString(), "hi");
  await curl(client, server, "/exit?code=5");
  await lab.settle();
  assert.equal(stateOf(server), "exited (5, Error)");
});

/** What a gRPC probe gets from the container's health service, as status in the message or as gRPC code. */
async function probeHealth({ sandbox }: Container, service: string): Promise<string> {
  const connection = await lab.core.network.host.connect(
    { ip: sandbox.ip ?? "", port: 5000 },
    AbortSignal.timeout(60_000),
  );
  const stream = duplexOf(connection, new AbortController().signal);
  const session = connect("http://pod", { createConnection: () => stream });
  const call = session.request({ ":method": "POST", ":path": HEALTH_CHECK_PATH, "content-type": "application/grpc" });
  const seen: Record<string, unknown> = {};
  for (const event of ["response", "trailers"]) call.on(event, (fields) => Object.assign(seen, fields));
  call.end(grpcFrame(HealthCheckRequest.encode({ service })));
  const pieces: Buffer[] = [];
  for await (const piece of call) pieces.push(piece as Buffer);
  session.destroy();
  if (seen["grpc-status"] !== "0") return `${seen["grpc-status"]} ${seen["grpc-message"]}`;
  return String(HealthCheckResponse.decode(Buffer.concat(pieces).subarray(GRPC_FRAME_HEADER_BYTES)).status);
}

test("grpc-health-checking serves until its delay is over, or a client says otherwise", async () => {
  const server = agnhost("grpc-health-checking", "--delay-unhealthy-sec=10", "--service=web");
  const client = agnhost("pause");
  await lab.settle();
  assert.deepEqual([await probeHealth(server, "web"), await probeHealth(server, "other")], ["1", "5 unknown service"]);
  await curl(client, server, "/make-not-serving");
  assert.equal(await probeHealth(server, "web"), "2");
  assert.match(await curl(client, server, "/make-serving"), /^[\d.µm]*s$/);
  assert.equal(await probeHealth(server, "web"), "1");
  await lab.clock.advance(10_000);
  assert.equal(await probeHealth(server, "web"), "2");
});

/** What the program says of a token of an issuer on the node's own port 443, whose key signs unless it is another one. */
async function discover(audience: string, signer?: KeyObject, shown?: string): Promise<string> {
  const ca = await makeAuthority();
  const { host } = lab.core.network;
  const { ip = "" } = host;
  const leaf = await makeLeaf(ca, { ip: [ip] });
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = `https://${ip}`;
  const documents: Record<string, unknown> = {
    "/.well-known/openid-configuration": { issuer: shown ?? issuer, jwks_uri: `${issuer}/keys` },
    "/keys": { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k" }] },
  };
  const server = createServer({ key: leaf.keyPem, cert: leaf.certificatePem }, ({ url, headers }, response) => {
    const isKnown = headers.authorization === "Bearer own";
    response.writeHead(isKnown ? 200 : 401).end(JSON.stringify(documents[url ?? ""] ?? {}));
  });
  host.ports.listen(443, (connection) => server.emit("connection", duplexOf(connection, never)));
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: issuer, aud: ["test"], exp: lab.clock.now() / 1000 + 60 };
  const signed = `${part({ alg: "ES256", kid: "k" })}.${part(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), { key: signer ?? privateKey, dsaEncoding: "ieee-p1363" });
  writeFileSync(join(folder, "sa"), `${signed}.${signature.toString("base64url")}`);
  writeFileSync(join(folder, "ca.crt"), ca.certificatePem);
  writeFileSync(join(folder, "token"), "own");
  const mounts = [{ containerPath: "/var/run/secrets/kubernetes.io/serviceaccount", hostPath: folder }];
  const path = "--token-path=/var/run/secrets/kubernetes.io/serviceaccount/sa";
  const args = ["test-service-account-issuer-discovery", path, `--audience=${audience}`];
  const container = lab.run({ image: { image: "agnhost" }, args, mounts });
  const output = lab.output(container, "stderr");
  await untilTrue(() => !container.isRunning);
  host.ports.close(443);
  const [last = ""] = output().trimEnd().split("\n").slice(-1);
  return `${stateOf(container)}: ${last.replace(/^\S+ \S+ /, "").replaceAll(issuer, "ISSUER")}`;
}

test("test-service-account-issuer-discovery verifies a token with its issuer's keys", async () => {
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  assert.deepEqual(
    [
      await discover("test"),
      await discover("other"),
      await discover("test", other),
      await discover("test", undefined, "x"),
    ],
    [
      "exited (0, Completed): OK: Got valid claims from token!",
      'exited (1, Error): oidc: expected audience "other" got ["test"]',
      "exited (1, Error): failed to verify signature: failed to verify id token signature",
      'exited (1, Error): oidc: issuer did not match the issuer returned by provider, expected "ISSUER" got "x"',
    ],
  );
});

test("the output of a command of netexec is in the container's memory", async () => {
  const [server, client] = [agnhost("netexec"), agnhost()];
  await lab.settle();
  const asking = curl(client, server, "/shell?cmd=yes");
  while (server.isRunning) await lab.clock.advance(10);
  assert.equal(stateOf(server), "exited (137, OOMKilled)");
  assert.equal(await asking, "");
});

test("serve-hostname goes on after a client that does not read", async () => {
  const [server, client] = [agnhost("serve-hostname", "--tcp", "--http=false"), agnhost()];
  await lab.settle();
  const address = `${sandboxIp(server)} 9376`;
  const { stdout } = await lab.sh(`nc -z ${address}; nc -z ${address}; nc ${address} < /dev/null`, client);
  assert.equal(stdout.toString(), server.sandbox.metadata.name);
});

test("nettest counts what other pods post", async () => {
  const [server, client] = [agnhost("nettest"), agnhost()];
  await lab.settle();
  const url = `http://${sandboxIp(server)}:8080`;
  const posted = await lab.sh(
    `wget -q -O- --post-data='{"Source": "prestop"}' ${url}/write; curl -s -d x ${url}/write`,
    client,
  );
  assert.equal(posted.stdout.toString(), `${JSON.stringify({ Hostname: server.sandbox.metadata.name })}\n`.repeat(2));
  const state: unknown = JSON.parse(await curl(client, server, "/read"));
  assert.deepEqual(state, {
    Hostname: server.sandbox.metadata.name,
    Sent: null,
    Received: { prestop: 1 },
    Errors: [`${server.sandbox.metadata.name}: Got request with no source`],
    Log: null,
    StillContactingPeers: false,
  });
});

test("liveness is healthy for 10 s", async () => {
  const [server, client] = [agnhost("liveness"), agnhost()];
  await lab.settle();
  assert.equal(await curl(client, server, "/healthz"), "ok");
  await lab.clock.advance(11_000);
  assert.equal(await curl(client, server, "/healthz"), "error: 11");
});

test("test-webserver serves the container's files; serve-hostname its name", async () => {
  const [web, name, client] = [agnhost("test-webserver"), agnhost("serve-hostname"), agnhost()];
  await lab.settle();
  assert.match(await curl(client, web, "/", 80), /<a href="etc\/">etc\/<\/a>/);
  assert.match(await curl(client, web, "/etc/passwd", 80), /^root:x:0:0/);
  assert.equal(await curl(client, name, "/", 9376), name.sandbox.metadata.name);
});

test("logs-generator writes its lines at an even pace", async () => {
  const container = agnhost("logs-generator", "-t", "10", "--run-duration=10s");
  const output = lab.output(container, "stderr");
  await lab.settle();
  await lab.clock.advance(4_500);
  const lines = output().trimEnd().split("\n");
  assert.equal(lines.length, 5);
  assert.match(
    lines[4] ?? "",
    /^I\d{4} [\d:.]+ +1 logs_generator\.go:76\] 4 (GET|POST|PUT) \/api\/v1\/namespaces\/\S+\/pods\/\w+ \d{3}$/,
  );
  await lab.clock.advance(6_000);
  assert.equal(stateOf(container), "exited (0, Completed)");
});

test("porter serves a text per port, with TLS where the variable says so", async () => {
  const envs = [
    { key: "SERVE_PORT_80", value: "plain" },
    { key: "SERVE_TLS_PORT_443", value: "<a>secured</a>" },
  ];
  const ported = lab.run({ image: { image: "agnhost" }, args: ["porter"], envs });
  const client = lab.run({ image: { image: "agnhost" }, args: ["pause"] });
  await untilTrue(() => lab.core.network.find(sandboxIp(ported))?.ports.list().length === 2);
  const get = async (flags: string) => (await lab.sh(`curl ${flags}`, client)).stdout.toString();
  assert.equal(await get(`-s http://${sandboxIp(ported)}`), "plain");
  assert.match(await get(`-ski https://${sandboxIp(ported)}`), /text\/html[\s\S]*\r\n\r\n<a>secured<\/a>$/);
  const verified = await lab.sh(`curl -sS https://${sandboxIp(ported)}`, client);
  assert.equal(verified.exitCode, 60, "it signed its certificate itself");
});

test("guestbook: a replica has what is set at its primary, before and after it registers", async () => {
  const primary = agnhost("guestbook", "--http-port", "6379");
  await lab.settle();
  const client = agnhost("pause");
  const at = (target: Container, path: string) => curl(client, target, path, 6379);
  assert.equal(await at(primary, "/set?key=messages&value=a%20b"), '{"message":"Updated"}');
  const replica = agnhost("guestbook", `--replicaof=${sandboxIp(primary)}`, "--http-port=6379");
  const output = lab.output(replica, "stderr");
  await untilTrue(() => output().includes("Registered to node"));
  assert.equal(await at(replica, "/get?key=messages"), '{"data":"a b"}');
  assert.equal(await at(primary, "/set?key=messages&value=c"), '{"message":"Updated"}');
  assert.equal(await at(replica, "/get"), '{"data":{"messages":"c"}}');
  assert.equal(await at(primary, "/set?value=c"), "cannot set with empty key.\n");
  assert.equal(await at(primary, "/guestbook?cmd=drop"), "unsupported cmd: 'drop'\n");
  assert.match(await at(primary, "/guestbook?cmd=get&key=x"), /^encountered error: .*no such host/);
});

type Review = Parameters<typeof answerTo>[1];
const reviewOf = (request: Review["request"]): Review => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: { uid: "u1", operation: "CREATE", ...request },
});
const labels = (values: Record<string, string>) => ({ object: { metadata: { labels: values } } });
const data = (values: Record<string, string>) => ({ object: { data: values } });
const pod = (name: string) => ({ object: { metadata: { name }, spec: { containers: [{ name: "a" }] } } });
const REVIEWS: readonly (readonly [string, Review["request"], string | undefined])[] = [
  ["/always-deny", {}, "no: this webhook denies all requests"],
  ["/always-allow-delay-5s", {}, "yes: this webhook allows all requests"],
  ["/add-label", labels({}), 'yes [{"op":"add","path":"/metadata/labels","value":{"added-label":"yes"}}]'],
  ["/add-label", labels({ a: "b" }), 'yes [{"op":"add","path":"/metadata/labels/added-label","value":"yes"}]'],
  [
    "/add-label",
    labels({ "added-label": "no" }),
    'yes [{"op":"replace","path":"/metadata/labels/added-label","value":"yes"}]',
  ],
  ["/add-label", labels({ "added-label": "yes" }), "yes"],
  ["/pods", labels({ "webhook-e2e-test": "webhook-disallow" }), "no: the pod contains unwanted label;"],
  ["/pods", labels({ "webhook-e2e-test": "wait-forever" }), undefined],
  [
    "/pods",
    { object: { spec: { containers: [{ name: "webhook-disallow-1" }] } } },
    "no: the pod contains unwanted container name;",
  ],
  ["/pods", pod("fine"), "yes"],
  [
    "/mutating-pods",
    pod("webhook-to-be-mutated"),
    'yes [{"op":"add","path":"/spec/initContainers","value":[{"image":"webhook-added-image","name":"webhook-added-init-container","resources":{}}]}]',
  ],
  ["/mutating-pods", pod("other"), "yes"],
  ["/mutating-pods-sidecar", pod("x"), "no: No image specified by the sidecar-image parameter"],
  [
    "/pods/attach",
    { name: "to-be-attached-pod", object: { stdin: true, container: "container1" } },
    "no: attaching to pod 'to-be-attached-pod' is not allowed",
  ],
  ["/pods/attach", { name: "to-be-attached-pod", object: { container: "container1" } }, "yes"],
  [
    "/configmaps",
    data({ "webhook-e2e-test": "webhook-disallow" }),
    "no: the configmap contains unwanted key and value",
  ],
  [
    "/configmaps",
    { operation: "DELETE", oldObject: data({ "webhook-e2e-test": "webhook-nondeletable" }).object },
    "no: the configmap cannot be deleted because it contains unwanted key and value",
  ],
  [
    "/mutating-configmaps",
    data({ "mutation-start": "yes" }),
    'yes [{"op":"add","path":"/data/mutation-stage-1","value":"yes"}]',
  ],
  [
    "/mutating-custom-resource",
    data({ "mutation-stage-1": "yes" }),
    'yes [{"op":"add","path":"/data/mutation-stage-2","value":"yes"}]',
  ],
  [
    "/custom-resource",
    data({ "webhook-e2e-test": "webhook-disallow" }),
    "no: the custom resource contains unwanted data",
  ],
  ["/crd", labels({ "webhook-e2e-test": "webhook-disallow" }), "no: the crd contains unwanted label"],
];
test.each(REVIEWS)("webhook %s judges %j", (path, request, want) => {
  const answer = answerTo(path, reviewOf(request)) as { readonly response: Record<string, unknown> } | undefined;
  if (answer === undefined) return assert.equal(want, undefined);
  const { uid, allowed, patch, patchType, status } = answer.response;
  const { message, reason } = (status ?? {}) as { readonly message?: string; readonly reason?: string };
  const why = message ?? reason;
  const change = patch === undefined ? "" : ` ${Buffer.from(String(patch), "base64")}`;
  assert.equal(`${allowed ? "yes" : "no"}${why === undefined ? "" : `: ${why}`}${change}`, want);
  assert.deepEqual([uid, patchType], ["u1", patch === undefined ? undefined : "JSONPatch"]);
});

test("webhook serves its verdicts over HTTPS, with the certificate of its files", async () => {
  const ca = await makeAuthority();
  const leaf = await makeLeaf(ca, { commonName: "hook" });
  const files = mkdtempSync(join(tmpdir(), "kubelab-agnhost-"));
  onTestFinished(() => rmSync(files, { recursive: true }));
  writeFileSync(join(files, "tls.crt"), leaf.certificatePem);
  writeFileSync(join(files, "tls.key"), leaf.keyPem);
  const hook = lab.run({
    image: { image: "agnhost" },
    args: ["webhook", "--tls-cert-file=/w/tls.crt", "--tls-private-key-file=/w/tls.key", "--port=8444"],
    mounts: [{ hostPath: files, containerPath: "/w", readonly: true }],
  });
  const client = lab.run({ image: { image: "agnhost" }, args: ["pause"] });
  await untilTrue(() => lab.core.network.find(sandboxIp(hook))?.ports.list().length === 1);
  const post = async (flags: string, path: string) =>
    (await lab.sh(`curl -sk ${flags} https://${sandboxIp(hook)}:8444${path}`, client)).stdout.toString();
  const body = JSON.stringify(reviewOf(labels({ "webhook-e2e-test": "webhook-disallow" })));
  const json = "-H 'content-type: application/json'";
  const verdict = JSON.parse(await post(`${json} -d '${body}'`, "/pods")) as { readonly response: unknown };
  assert.deepEqual(verdict.response, {
    uid: "u1",
    allowed: false,
    status: { metadata: {}, message: "the pod contains unwanted label;" },
  });
  assert.equal(await post("", "/readyz"), "ok");
  assert.equal(await post(`${json} -d '{}'`, "/pods"), "Request could not be decoded\n");
  assert.equal(await post("", "/other"), "404 page not found\n");
  const missing = lab.run({ image: { image: "agnhost" }, args: ["webhook"] });
  await untilTrue(() => stateOf(missing) === "exited (255, Error)");
});

/** A conversion from a version to another, the fields of the resource, and what comes of them. */
const CONVERSIONS: readonly (readonly [from: string, to: string, fields: object, want: unknown])[] = [
  ["v1", "v2", { hostPort: "localhost:80" }, { host: "localhost", port: "80" }],
  ["v1", "v2", { a: 1 }, { a: 1 }],
  ["v2", "v1", { host: "localhost", port: "80" }, { hostPort: "localhost:80" }],
  ["v2", "v1", { host: "localhost" }, { hostPort: "localhost:" }],
  ["v1", "v2", { hostPort: "localhost" }, "invalid hostPort value `localhost`"],
  ["v1", "v1", {}, "conversion from a version to itself should not call the webhook: stable.example.com/v1"],
  ["v1", "v3", {}, 'unexpected conversion version "stable.example.com/v3"'],
];
for (const [from, to, fields, want] of CONVERSIONS) {
  test(`crd-conversion-webhook: ${from} to ${to} of ${JSON.stringify(fields)}`, () => {
    const apiVersion = (version: string) => `stable.example.com/${version}`;
    const objects = [{ apiVersion: apiVersion(from), kind: "Test", ...fields }];
    const request = { uid: "u", desiredAPIVersion: apiVersion(to), objects };
    const head = { kind: "ConversionReview", apiVersion: "apiextensions.k8s.io/v1" };
    const { response } = convertReview(JSON.stringify({ ...head, request })) as { readonly response: object };
    const isFailure = typeof want === "string";
    const result = { metadata: {}, status: isFailure ? "Failure" : "Success", ...(isFailure ? { message: want } : {}) };
    const convertedObjects = isFailure ? null : [{ kind: "Test", ...(want as object), apiVersion: apiVersion(to) }];
    assert.deepEqual(response, { uid: "u", convertedObjects, result });
  });
}

test("crd-conversion-webhook answers in the version of the review, and refuses other kinds", () => {
  const request = { uid: "u", desiredAPIVersion: "stable.example.com/v2", objects: [] };
  const answered = (apiVersion: string, kind = "ConversionReview") =>
    convertReview(JSON.stringify({ kind, apiVersion, request }))?.["apiVersion"];
  const [group, older] = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];
  assert.deepEqual(
    [answered(group), answered(older), answered("apiextensions.k8s.io/v2"), answered(group, "AdmissionReview")],
    [group, older, undefined, undefined],
  );
});

test("audit-proxy prints the events of an EventList", async () => {
  const [proxy, client] = [agnhost("audit-proxy"), agnhost("fake-gitserver")];
  const [output, errors] = [lab.output(proxy), lab.output(proxy, "stderr")];
  await lab.settle();
  const post = async (body: object) =>
    (
      await lab.sh(`curl -s -w '%{http_code}' -d '${JSON.stringify(body)}' http://${sandboxIp(proxy)}:8080`, client)
    ).stdout.toString();
  const list = {
    kind: "EventList",
    apiVersion: "audit.k8s.io/v1",
    items: [{ level: "Metadata" }, { level: "Request" }],
  };
  assert.deepEqual([await post(list), await post({ ...list, apiVersion: "v1" })], ["200", "500"]);
  const event = (level: string) => `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"${level}"}\n`;
  assert.equal(output(), event("Metadata") + event("Request"));
  assert.match(errors(), /failed decoding buf: \[1111011 [01 ]+\], apiVersion: audit\.k8s\.io\/v1\n$/);
  assert.equal(await curl(proxy, client, "/info/refs?service=git-upload-pack", 8000), "I am a fake git server");
});

/** A pod that serves /whoami, and knows the addresses of itself and its node, unless other ones are given. */
function masqueraded(podIp?: string): Container {
  const sandbox = lab.sandbox();
  const envs = [
    { key: "POD_IP", value: podIp ?? sandbox.ip ?? "" },
    { key: "NODE_IP", value: "10.0.0.9" },
  ];
  return lab.run({ image: { image: "agnhost" }, args: ["no-snat-test"], envs }, sandbox);
}

test("no-snat-test compares the addresses that other pods see; its proxy passes the answer on", async () => {
  const [proxy, pod, other, wrong] = [
    agnhost("no-snat-test-proxy"),
    masqueraded(),
    masqueraded(),
    masqueraded("10.9.9.9"),
  ];
  await lab.settle();
  const ask = (target: Container, ips: string) =>
    curl(proxy, proxy, `/checknosnat?target=${sandboxIp(target)}:8080&ips=${ips}`, 31_235);
  const whole = `${sandboxIp(other)}:8080`;
  assert.equal((await curl(proxy, pod, "/whoami")).split(":")[0], sandboxIp(proxy));
  assert.equal(await ask(pod, whole), "");
  assert.match(
    await ask(pod, "127.0.0.1:1"),
    /^Get "http:\/\/127\.0\.0\.1:1\/whoami": dial tcp .* connection refused$/,
  );
  assert.match(await ask(wrong, whole), /^Returned ip "10\..*" != my Pod ip "10\.9\.9\.9" or my Node ip "10\.0\.0\.9"/);
  assert.match(
    await curl(pod, proxy, "/checknosnat?target=127.0.0.1:1&ips=", 31_235),
    /^error querying ".*, err: Get /,
  );
  const without = agnhost("no-snat-test");
  const output = lab.output(without, "stderr");
  await lab.settle();
  assert.equal(output(), "POD_IP env var was not present in the environment\n");
});

test("net closes a connection by half on the server, and waits on both sides", async () => {
  const server = agnhost("net", "--serve=:8889");
  await lab.settle();
  const run = (options: object, runner = "nat-closewait-server") =>
    lab.sh(`curl -s -d '${JSON.stringify(options)}' http://127.0.0.1:8889/run/${runner}`, server);
  const answer = run({ LocalAddr: ":9999", PostFinTimeoutSeconds: 3 });
  await untilTrue(() => lab.core.network.find(sandboxIp(server))?.ports.list().includes(9999) === true);
  const options = { RemoteAddr: `${sandboxIp(server)}:9999`, TimeoutSeconds: 5, PostFinTimeoutSeconds: 1 };
  const client = agnhost("net", "--runner=nat-closewait-client", `--options=${JSON.stringify(options)}`);
  const output = lab.output(client);
  await lab.settle();
  await lab.clock.advance(3_000);
  assert.equal(
    (await answer).stdout.toString(),
    `ok
output:

# closewait.go:75: Run &{:9999 3}
# closewait.go:88: Server listening on :9999
# closewait.go:96: Client connected
# closewait.go:105: Server sent FIN, waiting 3 seconds
# closewait.go:110: Done
`,
  );
  assert.match(output(), /waiting 1 seconds\n# closewait\.go:195: Done\n$/);
  assert.equal(stateOf(client), "exited (0, Completed)");
  const problems = [await run({ LocalAddr: 1 }), await run({}, "none"), await run({ LocalAddr: "x" })];
  assert.deepEqual(
    problems.map(({ stdout }) => stdout.toString().split("\n")[0]),
    [
      "Error from runner: Invalid options JSON: json: cannot unmarshal number into Go struct field LocalAddr",
      "Error from runner: Invalid runner: '<nil>', see --help",
      "Error from runner: address x: missing port in address",
    ],
  );
});

test("resource-consumer uses what a request asks for until its time is over", async () => {
  const [consumer, client] = [agnhost("resource-consumer"), agnhost("pause")];
  await lab.settle();
  const post = async (path: string, form: string) =>
    (await lab.sh(`curl -s -d '${form}' http://${sandboxIp(consumer)}:8080/${path}`, client)).stdout.toString();
  const machine = consumer.running?.machine;
  const units = () => machine?.cpu.usedUnits ?? 0;
  assert.equal(
    await post("ConsumeCPU", "millicores=500&durationSec=10"),
    "ConsumeCPU\n500 millicores\n10 durationSec\n",
  );
  const before = units();
  await lab.clock.advance(10_000);
  assert.equal(Math.round(((units() - before) * NS_PER_UNIT) / 1e8) / 10, 5, "seconds of CPU time");
  assert.match(await post("ConsumeMem", "megabytes=40&durationSec=10"), /^ConsumeMem\n40 megabytes/);
  await lab.clock.advance(2_000);
  const used = () => Math.round((machine?.memory.usedBytes ?? 0) / 1024 ** 2);
  assert.equal(used(), 40);
  await lab.clock.advance(10_000);
  assert.equal(used(), 0);
  assert.match(await post("BumpMetric", "metric=qps&delta=3&durationSec=5"), /^BumpMetric\nqps metric\n3 delta/);
  assert.match(await curl(client, consumer, "/metrics"), /qps 3\.000000\n$/);
  await lab.clock.advance(5_000);
  assert.match(await curl(client, consumer, "/metrics"), /qps 0\.000000\n$/);
  assert.deepEqual(
    [
      await curl(client, consumer, "/ConsumeCPU"),
      await post("ConsumeCPU", "millicores=5"),
      await post("ConsumeCPU", "millicores=x&durationSec=1"),
      await post("other", ""),
    ],
    [
      "Bad request. Not a POST request\n",
      "not given function argument\n",
      "incorrect function argument\n",
      "unknown function: /other\n",
    ],
  );
});

test("resource-consumer-controller spreads an amount over requests to a Service", async () => {
  const dnsConfig = {
    servers: ["10.0.0.10"],
    searches: ["default.svc.cluster.local", "svc.cluster.local"],
    options: [],
  };
  const args = ["resource-consumer-controller", "--consumer-service-name=c"];
  const controller = lab.run({ image: { image: "agnhost" }, args }, lab.sandbox({ dnsConfig }));
  const consumer = agnhost("resource-consumer");
  await lab.settle();
  lab.sh(`echo '${sandboxIp(consumer)} c.default.svc.cluster.local' >> /etc/hosts`, controller);
  await lab.settle();
  const form = "millicores=250&durationSec=1&requestSizeMillicores=100";
  const answer = await lab.sh(`curl -s -d '${form}' http://127.0.0.1:8080/ConsumeCPU`, controller);
  assert.equal(
    answer.stdout.toString(),
    "RC manager: sending 2 requests to consume 100 millicores each and 1 request to consume 50 millicores\n" +
      "Consumed 100 millicores\nConsumed 100 millicores\nConsumed 50 millicores\n",
  );
});

test("hpa-example answers after work, which its limit makes longer", async () => {
  const image = { image: "registry.k8s.io/hpa-example" };
  lab.core.images.add({ domain: "registry.k8s.io", path: "hpa-example", tag: "latest" });
  const resources = { cpuPeriod: 100_000n, cpuQuota: 50_000n };
  const server = lab.run({ image, linux: { resources } });
  const client = agnhost("pause");
  await lab.settle();
  let isAnswered = false;
  const answer = curl(client, server, "/", 80).finally(() => {
    isAnswered = true;
  });
  await lab.settle();
  await lab.clock.advance(90);
  assert.equal(isAnswered, false);
  await lab.clock.advance(10);
  assert.equal(await answer, "OK!");
});

test("webhooks without their files end with Go's words", async () => {
  for (const [args, want] of [
    [["webhook"], "open : no such file or directory"],
    [["webhook", "--tls-cert-file=/nope"], "open /nope: no such file or directory"],
    [["crd-conversion-webhook", "--tls-cert-file=/etc"], "read /etc: is a directory"],
  ] as const) {
    const container = agnhost(...args);
    const output = lab.output(container, "stderr");
    await lab.settle();
    assert.match(output(), new RegExp(`^F0101 00:00:00\\.\\d+ +1 config.go:34\\] ${want}\\n$`));
    assert.equal(stateOf(container), "exited (255, Error)");
  }
});

test("inclusterclient needs a pod with a token", async () => {
  const container = agnhost("inclusterclient");
  const output = lab.output(container, "stderr");
  await lab.settle();
  assert.match(output(), /err: unable to load in-cluster configuration/);
  assert.equal(stateOf(container), "exited (1, Error)");
});
