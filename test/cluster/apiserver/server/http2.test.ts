import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Face } from "./support.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

let face: Face;
let session: ClientHttp2Session;
beforeAll(async () => {
  face = await Face.open({ http2: true });
  session = await open();
});
afterAll(async () => {
  session.destroy();
  await face.close();
});

async function open(options: ClientSessionOptions = {}, to = face): Promise<ClientHttp2Session> {
  const { url, caPem: ca } = to.controlPlane;
  const opened = connect(url, { ca, ...to.admin, ...options });
  // What a test does not expect fails its requests as well.
  opened.on("error", () => {});
  await once(opened, "remoteSettings");
  return opened;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function begin(on: ClientHttp2Session, path: string, headers: OutgoingHttpHeaders = {}, body?: unknown) {
  const isRaw = body === undefined || Buffer.isBuffer(body);
  const bytes = isRaw ? body : Buffer.from(JSON.stringify(body));
  const stream = on.request({ ":path": path, ...headers }, { endStream: bytes === undefined });
  stream.on("error", () => {});
  if (bytes !== undefined) stream.end(bytes);
  return stream;
}

async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status"?: number }];
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return { status: headers[":status"], headers, text };
}

const ask = (path: string, headers?: OutgoingHttpHeaders, body?: unknown) =>
  answerOf(begin(session, path, headers, body));

const configMap = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
const json = { "content-type": "application/json" };

test("one connection for all requests, with the answers of HTTP/1.1", async () => {
  const created = await ask(CONFIG_MAPS, { ":method": "POST", ...json }, configMap("a"));
  expect([created.status, JSON.parse(created.text).metadata.name]).toEqual([201, "a"]);
  const table: [string, Record<string, string>?][] = [
    [`${CONFIG_MAPS}/a`],
    [CONFIG_MAPS],
    [`${CONFIG_MAPS}/none`],
    ["/nope"],
    ["/version"],
    ["/api"],
    ["/api/v1"],
    ["/openapi/v2"],
    ["/readyz?verbose"],
    [CONFIG_MAPS, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }],
    [CONFIG_MAPS, { accept: "application/yaml" }],
    [`${CONFIG_MAPS}?limit=x`],
    ["/api/v1/nodes", { "impersonate-user": "jane" }],
  ];
  for (const [path, headers = {}] of table) {
    const [one, two] = [await face.ask(path, { headers }), await ask(path, headers)];
    const { "content-type": type, "x-content-type-options": options } = one.headers;
    expect([two.status, two.text], path).toEqual([one.status, one.text]);
    expect([two.headers["content-type"], two.headers["x-content-type-options"]], path).toEqual([type, options]);
    expect([two.headers["connection"], two.headers["transfer-encoding"]], path).toEqual([undefined, undefined]);
  }
  const all = await Promise.all(Array.from({ length: 100 }, () => ask(`${CONFIG_MAPS}/a`)));
  expect(new Set(all.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set([`200 ${created.text}`]));
});

test("bodies: without a length, missing, too large, of a refused request; HEAD and repeated fields", async () => {
  const post = { ":method": "POST", ...json };
  const stream = session.request({ ":path": CONFIG_MAPS, ...post });
  const text = JSON.stringify(configMap("pieces"));
  for (let i = 0; i < text.length; i += 10) stream.write(text.slice(i, i + 10));
  stream.end();
  expect((await answerOf(stream)).status).toBe(201);
  expect((await ask(CONFIG_MAPS, post)).status).toBe(400);
  expect((await ask(CONFIG_MAPS, post, Buffer.alloc(4 * 1024 * 1024, 32))).status).toBe(413);
  expect((await ask("/nope", post, Buffer.alloc(300_000, 32))).status).toBe(404);
  expect(await ask("/version", { ":method": "HEAD" })).toMatchObject({ text: "" });
  const deprecated = await ask("/api/v1/componentstatuses");
  expect(deprecated.headers["warning"]).toContain("299 - ");
  const unset = await ask(`${CONFIG_MAPS}?fieldValidation=Warn`, post, { ...configMap("w"), x: 1, y: 2 });
  expect(unset.headers["warning"]).toMatch(/unknown field ..x.*, 299 - "unknown field ..y/);
  expect((await ask(`${CONFIG_MAPS}/w`, { ":method": "DELETE" })).status).toBe(200);
});

test("forty watches on one connection, each with every event; one that is given up leaves the others", async () => {
  const { resourceVersion } = JSON.parse((await ask(CONFIG_MAPS)).text).metadata;
  const path = `${CONFIG_MAPS}?watch=true&resourceVersion=${resourceVersion}`;
  const watches = Array.from({ length: 40 }, () => begin(session, path));
  await Promise.all(watches.map((watch) => once(watch, "response")));
  const lines = watches.map((watch) => once(watch, "data"));
  await ask(CONFIG_MAPS, { ":method": "POST", ...json }, configMap("seen"));
  const seen = (await Promise.all(lines)).map(([line]) => JSON.parse(String(line)));
  expect(new Set(seen.map(({ type, object }) => `${type} ${object.metadata.name}`))).toEqual(new Set(["ADDED seen"]));
  watches[0]?.close(constants.NGHTTP2_CANCEL);
  const next = once(watches[1] as ClientHttp2Stream, "data");
  await ask(`${CONFIG_MAPS}/seen`, { ":method": "DELETE" });
  expect(JSON.parse(String((await next)[0])).type).toBe("DELETED");
  for (const watch of watches) watch.close(constants.NGHTTP2_CANCEL);
});

test("ALPN decides: without it, or with HTTP/1.1 first, clients stay with HTTP/1.1; a server without the option offers no HTTP/2", async () => {
  await using without = await Face.open();
  const table: [Face, string[] | undefined, string | false][] = [
    [face, ["h2", "http/1.1"], "h2"],
    [face, ["http/1.1"], "http/1.1"],
    [face, undefined, false],
    [without, ["h2", "http/1.1"], "http/1.1"],
  ];
  for (const [to, ALPNProtocols, chosen] of table) {
    const { url, caPem: ca } = to.controlPlane;
    const offered = ALPNProtocols === undefined ? {} : { ALPNProtocols };
    const socket = connectTls({ host: "127.0.0.1", port: Number(new URL(url).port), ca, ...offered });
    await once(socket, "secureConnect");
    expect(socket.alpnProtocol).toBe(chosen);
    socket.destroy();
  }
  expect((await face.ask("/version")).status).toBe(200);
  // HTTP/2 has no upgrades.
  const exec = await ask("/api/v1/namespaces/default/pods/a/exec?command=sh", { ":method": "POST" });
  expect(exec.status).toBe(404);
});

test("upstream's limits of streams, frames and headers", async () => {
  expect(session.remoteSettings).toMatchObject({
    maxConcurrentStreams: 250,
    initialWindowSize: 256 * 1024,
    maxFrameSize: 256 * 1024,
    enablePush: false,
  });
  const fields = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-large-${i}`, "x".repeat(50_000)]));
  const large = await open({ maxSendHeaderBlockLength: 4 * 1024 * 1024 });
  const tooLarge = begin(large, "/version", fields(30));
  await new Promise((resolve) => tooLarge.once("close", resolve));
  expect(tooLarge.rstCode).toBeGreaterThan(constants.NGHTTP2_NO_ERROR);
  large.destroy();
  const own = await open({ maxSendHeaderBlockLength: 4 * 1024 * 1024 });
  expect((await answerOf(begin(own, "/version", fields(2)))).status).toBe(200);
  own.destroy();
});

test("a flood of resets ends its connection alone", async () => {
  const own = await open();
  const goAway = once(own, "goaway");
  for (let i = 0; i < 2_000 && !own.destroyed; i++) {
    begin(own, "/nope").close(constants.NGHTTP2_CANCEL);
    // A request that is reset at once is not even sent.
    if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect((await goAway)[0]).not.toBe(constants.NGHTTP2_NO_ERROR);
  own.destroy();
  expect((await ask("/version")).status).toBe(200);
});

test("the end of the server: GOAWAY, watches end as they should, what is asked is answered", async () => {
  const other = await Face.open({ http2: true });
  const own = await open({}, other);
  const watch = begin(own, `${CONFIG_MAPS}?watch=true`);
  await once(watch, "response");
  const answers = [1, 2, 3].map((i) =>
    answerOf(begin(own, CONFIG_MAPS, { ":method": "POST", ...json }, configMap(`last-${i}`))),
  );
  const ended = once(watch.resume(), "end");
  const goAway = once(own, "goaway");
  const statuses = await Promise.all(answers);
  await other.close();
  expect(statuses.map(({ status }) => status)).toEqual([201, 201, 201]);
  await ended;
  expect(watch.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  expect((await goAway)[0]).toBe(constants.NGHTTP2_NO_ERROR);
});
