import assert from "node:assert/strict";
import { test } from "vitest";
import { redactBody } from "../../src/trace/redaction/redact-body.js";
import { redactArguments, redactText } from "../../src/trace/redaction/redact-text.js";

const KEY = ["-----BEGIN EC PRIVATE KEY-----", "MHcCAQEE", "-----END EC PRIVATE KEY-----"].join("\n");
const JWT = `${Buffer.from('{"alg":"RS256"}').toString("base64url")}.${Buffer.from('{"sub":"system"}').toString("base64url")}.c2ln`;

const EVENT_OF = (before: string) => `${before}second.18f0a1b2c3d4e5f6 ok`;

const texts = [
  ["a bootstrap token keeps its public half", "token abcdef.0123456789abcdef ok", "token abcdef.**** ok"],
  ["an Event of six letters keeps its name", EVENT_OF("events default/"), EVENT_OF("events default/")],
  ["also in a path", EVENT_OF("PATCH /api/v1/namespaces/a/events/"), EVENT_OF("PATCH /api/v1/namespaces/a/events/")],
  ["also for kubectl", EVENT_OF("get event/"), EVENT_OF("get event/")],
  ["also in a key of etcd", EVENT_OF("/registry/events/default/"), EVENT_OF("/registry/events/default/")],
  ["also behind its kind", EVENT_OF("valid: Event "), EVENT_OF("valid: Event ")],
  ["a token with such a half goes", EVENT_OF("token "), "token second.**** ok"],
  ["also as a name of another resource", EVENT_OF("secrets kube-system/"), "secrets kube-system/second.**** ok"],
  ["also behind a longer word", EVENT_OF("my-events default/"), "my-events default/second.**** ok"],
  ["also behind a space", EVENT_OF("events default/ "), "events default/ second.**** ok"],
  ["a token at an Event's place goes", "events default/abcdef.0123456789abcdef", "events default/abcdef.****"],
  ["also one of letters", "events default/abcdef.1zyxwvutsrqponml", "events default/abcdef.****"],
  ["a private key goes", `x ${KEY} y`, "x -----BEGIN EC PRIVATE KEY-----****-----END EC PRIVATE KEY----- y"],
  ["a bearer header goes", "Authorization: Bearer s3cr3t.x-y", "Authorization: Bearer ****"],
  ["a JWT goes", `got ${JWT}`, "got ****"],
  ["a host name passes", "at abcdef.example.com:6443", "at abcdef.example.com:6443"],
  ["a flag's value goes", "curl --token=s3cr3t, --db-password s3cr3t-x", "curl --token=****, --db-password ****"],
  [
    "a query with arguments loses them",
    "POST /exec?command=sh&command=--token%3Ds3cr3t&command=--password&command=s3cr3t-x&command=Authorization%3A+Bearer+s3cr3t",
    "POST /exec?command=sh&command=--token%3D****&command=--password&command=****&command=Authorization%3A+Bearer+****",
  ],
  [
    "a password in a URL goes",
    "postgres://me:s3cr3t@db/x?password=s3cr3t&a=b",
    "postgres://me:****@db/x?password=****&a=b",
  ],
  [
    "a password in a URL goes from a query",
    "POST /exec?command=wget&command=http%3A%2F%2Fme%3As3cr3t%40db%3A1%2F&x=a%40b",
    "POST /exec?command=wget&command=http%3A%2F%2Fme%3A****%40db%3A1%2F&x=a%40b",
  ],
  ["basic authentication goes", "-H 'Authorization: Basic bWU6cw=='", "-H 'Authorization: Basic ****'"],
  [
    "names of flags pass",
    "--token-ttl 24h, --token TOKEN, a bearer token, a Secret bootstrap-token abc",
    "--token-ttl 24h, --token TOKEN, a bearer token, a Secret bootstrap-token abc",
  ],
  ["a masked token keeps its half", "--token abcdef.0123456789abcdef", "--token abcdef.****"],
  [
    "a line of YAML loses its value",
    "a: b\n  db-password: my s3cr3t\n- token: 'x'",
    "a: b\n  db-password: ****\n- token: '****'",
  ],
  [
    "a block of YAML, too",
    "a:\n  db-password: |-\n    my\n\n    s3cr3t\n  user: me\n- token: >\n  x y\nz: |\n  plain",
    "a:\n  db-password: |-\n    ****\n\n  user: me\n- token: >\n  ****\nz: |\n  plain",
  ],
  ["a line of properties, too", "db.password = s3cr3t x\nuser=me", "db.password = ****\nuser=me"],
  ["a string of JSON, too", '{"dbPassword": "a\\"b c", "user":"me"}', '{"dbPassword": "****", "user":"me"}'],
  ["also within a string", '"{\\"token\\":\\"a\'b\\",\\"x\\":1}"', '"{\\"token\\":\\"****\\",\\"x\\":1}"'],
  [
    "what is no value stays",
    "automountServiceAccountToken: false\nsecret:\n  name: x\ntoken: null\nno bearer token: none\ntokenFile: /f",
    "automountServiceAccountToken: false\nsecret:\n  name: x\ntoken: null\nno bearer token: none\ntokenFile: /f",
  ],
  ["a base64 private key goes", Buffer.from(KEY).toString("base64"), "****"],
] as const;
for (const [name, text, want] of texts) {
  test(`redact: ${name}`, () => assert.equal(redactText(text), want));
}

test("redact: arguments lose the values of secret flags", () => {
  const words = ["app", "--token", "x", "--api-key=y", "-v", "2", "PGPASSWORD=z", "--token-file", "/f"];
  const want = ["app", "--token", "****", "--api-key=****", "-v", "2", "PGPASSWORD=****", "--token-file", "/f"];
  assert.deepEqual(redactArguments(words), want);
});

test("redact: a name decides for flags, variables, headers and keys alike", () => {
  for (const name of ["API_KEY", "db-password", "AWS_SECRET_ACCESS_KEY", "X-Access-Key", "TOKEN", "clientSecret"]) {
    assert.equal(redactText(`${name}=x`), `${name}=****`);
    assert.deepEqual(redactArguments([`--${name}`, "x"]), [`--${name}`, "****"]);
    assert.deepEqual(redactBody({ env: [{ name, value: "x" }] }), { env: [{ name, value: "****" }] });
    assert.deepEqual(redactBody({ data: { [name]: "x" } }), { data: { [name]: "****" } });
  }
  for (const name of ["PATH", "TOKEN_FILE", "secretName", "API_KEY_ID"]) {
    assert.equal(redactText(`${name}=x`), `${name}=x`);
    assert.deepEqual(redactArguments([`--${name}`, "x"]), [`--${name}`, "x"]);
    assert.deepEqual(redactBody({ env: [{ name, value: "x" }] }), { env: [{ name, value: "x" }] });
    assert.deepEqual(redactBody({ data: { [name]: "x" } }), { data: { [name]: "x" } });
  }
});

test("redact: masks what follows a masked value, a flag behind prose, and keys of any length", () => {
  assert.equal(redactText("token=****token=s3cr3t"), "token=****token=****");
  assert.equal(redactText('token=x****password="y"'), 'token=x****password="****"');
  assert.equal(redactText("a token+--password+s3cr3t-x"), "a token+--password+****");
  const long = KEY.replace("MHcCAQEE", "MHcCAQEE".repeat(5_000));
  assert.equal(redactText(long), "-----BEGIN EC PRIVATE KEY-----****-----END EC PRIVATE KEY-----");
  const half = "-----BEGIN PRIVATE KEY-----";
  assert.equal(redactText(`${half}${KEY}`), `${half}-----BEGIN EC PRIVATE KEY-----****-----END EC PRIVATE KEY-----`);
});

test("redact: arguments in bodies, also in the object that kubectl applied", () => {
  const spec = (value: string) => ({
    containers: [{ args: ["--token", value, "--db-password", value], command: ["x"] }],
  });
  const body = (value: string, applied: string) => ({
    kind: "Pod",
    metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": applied } },
    spec: spec(value),
  });
  const masked = JSON.stringify({ kind: "Pod", spec: spec("****") });
  assert.deepEqual(redactBody(body("x", JSON.stringify({ kind: "Pod", spec: spec("x") }))), body("****", masked));
  const file = { kind: "ConfigMap", data: { "app.yaml": "user: me\npassword: x\n" } };
  assert.deepEqual(redactBody(file), { kind: "ConfigMap", data: { "app.yaml": "user: me\npassword: ****\n" } });
});

test("redact: a certificate in base64 stays", () => {
  const pem = Buffer.from("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n").toString("base64");
  assert.equal(redactText(pem), pem);
});

test("redact: masks values of Secrets at any depth; other data stays", () => {
  const secret = { kind: "Secret", metadata: { name: "s" }, data: { a: "YQ==" }, stringData: { b: "c" } };
  const masked = { kind: "Secret", metadata: { name: "s" }, data: { a: "****" }, stringData: { b: "****" } };
  assert.deepEqual(redactBody(secret), masked);
  assert.deepEqual(redactBody({ kind: "SecretList", items: [{ data: { a: "YQ==" } }] }), {
    kind: "SecretList",
    items: [{ data: { a: "****" } }],
  });
  assert.deepEqual(redactBody({ type: "ADDED", object: secret }), { type: "ADDED", object: masked });
  // A misspelt field is refused, and its value is as secret.
  assert.deepEqual(redactBody({ ...secret, stringdata: { b: "c" } }), { ...masked, stringdata: { b: "****" } });
  const path = "/api/v1/namespaces/default/secrets";
  const status = { kind: "Status", message: "not found", reason: "NotFound" };
  const table = {
    kind: "Table",
    columnDefinitions: [{ name: "Name" }],
    rows: [{ cells: ["s"], object: { kind: "Pod" } }],
  };
  for (const other of [status, table]) assert.deepEqual(redactBody(other, path), other);
  assert.deepEqual(redactBody({ kind: "ConfigMap", data: { a: "b" } }), { kind: "ConfigMap", data: { a: "b" } });
});

test("redact: masks tokens in answers and credentials in kubeconfigs", () => {
  assert.deepEqual(redactBody({ kind: "TokenRequest", status: { token: "opaque" } }), {
    kind: "TokenRequest",
    status: { token: "****" },
  });
  assert.deepEqual(redactBody({ users: [{ user: { "client-key-data": "aGk=" } }] }), {
    users: [{ user: { "client-key-data": "****" } }],
  });
});
