import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HttpsClient } from "../../support/https-client.js";
import { SpawnedServer } from "../../support/spawned-server.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const CRLF = "\r\n";

let server: SpawnedServer;
let client: HttpsClient;

beforeAll(async () => {
  // A minute passes in a second.
  server = await SpawnedServer.start({ speed: 60 });
  client = new HttpsClient(server.access);
});

afterAll(async () => {
  const { unhandled, bugs } = await server.usage();
  client.close();
  expect({ unhandled, bugs, code: await server.close() }).toEqual({ unhandled: [], bugs: [], code: 0 });
});

/** A whole request, byte for byte. */
function request(line: string, headers: readonly string[], body = ""): string {
  return [`${line} HTTP/1.1`, "Host: x", ...headers, "", body].join(CRLF);
}

const OBJECT = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "smuggled" } });
/** What would be a request of its own, if the one before it ended sooner for the server than for others on the way. */
const SMUGGLED = request(`POST ${CONFIG_MAPS}`, [`Content-Length: ${OBJECT.length}`], OBJECT);

/** The statuses of all answers on a connection, in order. */
function statuses(seen: string): number[] {
  return [...seen.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

describe("lengths that can be read in two ways end the connection: nothing behind them is read", () => {
  const post = (headers: readonly string[], body: string) =>
    request(`POST ${CONFIG_MAPS}`, ["Content-Type: application/json", ...headers], body);
  const table: readonly (readonly [what: string, bytes: string])[] = [
    ["a length and chunks", post(["Content-Length: 4", "Transfer-Encoding: chunked"], `0${CRLF}${CRLF}${SMUGGLED}`)],
    ["chunks and a length", post(["Transfer-Encoding: chunked", "Content-Length: 4"], `0${CRLF}${CRLF}${SMUGGLED}`)],
    ["an encoding that nobody knows", post(["Transfer-Encoding: xchunked"], `0${CRLF}${CRLF}${SMUGGLED}`)],
    [
      "chunks that are not the last encoding",
      post(["Transfer-Encoding: chunked, identity"], `0${CRLF}${CRLF}${SMUGGLED}`),
    ],
    [
      "two encodings",
      post(["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], `0${CRLF}${CRLF}${SMUGGLED}`),
    ],
    ["a blank before the colon", post(["Transfer-Encoding : chunked"], `0${CRLF}${CRLF}${SMUGGLED}`)],
    ["a header that goes on in the next line", post(["Transfer-Encoding:", " chunked"], `0${CRLF}${CRLF}${SMUGGLED}`)],
    ["two lengths", post(["Content-Length: 2", "Content-Length: 40"], `{}${SMUGGLED}`)],
    ["a list of lengths", post(["Content-Length: 2, 2"], `{}${SMUGGLED}`)],
    ["a length with a sign", post(["Content-Length: +2"], `{}${SMUGGLED}`)],
    ["a negative length", post(["Content-Length: -2"], `{}${SMUGGLED}`)],
    ["a hexadecimal length", post(["Content-Length: 0x2"], `{}${SMUGGLED}`)],
    ["a length beyond all numbers", post([`Content-Length: ${"9".repeat(30)}`], `{}${SMUGGLED}`)],
    ["a chunk longer than numbers go", post(["Transfer-Encoding: chunked"], `FFFFFFFFFFFFFFFFF${CRLF}${SMUGGLED}`)],
    ["a chunk of a negative length", post(["Transfer-Encoding: chunked"], `-1${CRLF}${SMUGGLED}`)],
    [
      "a chunk that does not end where it says",
      post(["Transfer-Encoding: chunked"], `2${CRLF}{}XX0${CRLF}${CRLF}${SMUGGLED}`),
    ],
    ["lines that end in a line feed alone", `GET /version HTTP/1.1\nHost: x\n\n${SMUGGLED}`],
    ["a carriage return inside of a header", request("GET /version", ["A: b\rX: y"], SMUGGLED)],
  ];
  for (const [what, bytes] of table) {
    test(what, async () => {
      expect(statuses(await client.raw(bytes))).toEqual([400]);
    });
  }

  test("nothing was smuggled", async () => {
    expect((await client.ask(CONFIG_MAPS)).body.items).toEqual([]);
  });
});

describe("requests that are no proper HTTP, or more than anybody needs", () => {
  const closing = "Connection: close";
  const table: readonly (readonly [what: string, status: number, bytes: string])[] = [
    ["nonsense", 400, `nonsense${CRLF}${CRLF}`],
    ["no host", 400, `GET /version HTTP/1.1${CRLF}${closing}${CRLF}${CRLF}`],
    ["a NUL in the path", 400, request("GET /ver\0sion", [closing])],
    ["a blank in the path", 400, request("GET /ver sion", [closing])],
    ["a NUL in a header", 400, request("GET /version", [closing, "X: a\0b"])],
    ["the preface of HTTP/2", 400, `PRI * HTTP/2.0${CRLF}${CRLF}SM${CRLF}${CRLF}`],
    ["a version to come", 400, `GET /version HTTP/9.9${CRLF}Host: x${CRLF}${CRLF}`],
    ["the version before", 200, `GET /version HTTP/1.0${CRLF}${CRLF}`],
    ["a method that nobody knows", 405, request(`FROB ${CONFIG_MAPS}`, [closing])],
    ["a method for diagnosis", 405, request(`TRACE ${CONFIG_MAPS}`, [closing])],
    ["a tunnel", 405, request("CONNECT elsewhere:443", [])],
    [
      "an expectation that nobody can meet",
      417,
      request(`POST ${CONFIG_MAPS}`, [closing, "Expect: rain", "Content-Length: 2"], "{}"),
    ],
    [
      "the same behind 5,000 other headers",
      417,
      request(`POST ${CONFIG_MAPS}`, [
        ...new Array<string>(5_000).fill("X: y"),
        closing,
        "Expect: rain",
        "Content-Length: 2",
      ]),
    ],
    [
      "an upgrade where there is none",
      200,
      request("GET /version", ["Connection: close, Upgrade", "Upgrade: websocket"]),
    ],
    ["900 kB of headers", 200, request("GET /version", [closing, `X: ${"a".repeat(900_000)}`])],
    ["1.2 MB of headers", 431, request("GET /version", [closing, `X: ${"a".repeat(1_200_000)}`])],
    ["100,000 headers", 200, request("GET /version", [closing, ...new Array<string>(100_000).fill("X: y")])],
    ["2 MB of names of headers", 431, request("GET /version", [closing, `${"a".repeat(2_000_000)}: b`])],
    [
      "2 MB of a chunk's extensions",
      400,
      request(`POST ${CONFIG_MAPS}`, [closing, "Transfer-Encoding: chunked"], `2;${"a".repeat(2_000_000)}${CRLF}{}`),
    ],
    [
      "3 MiB and a byte in one chunk",
      413,
      request(
        `POST ${CONFIG_MAPS}`,
        [closing, "Transfer-Encoding: chunked"],
        `300001${CRLF}${" ".repeat(0x300001)}${CRLF}0${CRLF}${CRLF}`,
      ),
    ],
    [
      "a body for a path that does not exist",
      404,
      request("POST /nope", [closing, "Content-Length: 1000000"], "x".repeat(1_000_000)),
    ],
  ];
  for (const [what, status, bytes] of table) {
    test(`${what}: ${status}`, async () => {
      expect(statuses(await client.raw(bytes))).toEqual([status]);
    });
  }

  test("a body that never comes where nobody wants it: the answer does, and the connection ends", async () => {
    expect(statuses(await client.raw(request("POST /nope", ["Content-Length: 1000"])))).toEqual([404]);
    expect(statuses(await client.raw(request("POST /nope", ["Content-Length: 900000000"], "x")))).toEqual([404]);
  });

  // Differs: of more than 16 kB of requests at once, Node (20) takes the first over TLS and ends the connection with a 400.
  test("many requests at once are answered in their order", async () => {
    const gets = Array.from({ length: 300 }, (_, i) => request(`GET /api/v1/nodes/n${i}`, i < 299 ? [] : [closing]));
    const seen = await client.raw(gets.join(""));
    const names = [...seen.matchAll(/nodes \\"(n\d+)\\" not found/g)].map(([, name]) => name);
    expect(names).toEqual(Array.from({ length: 300 }, (_, i) => `n${i}`));
  });
});

describe("clients that take their time", () => {
  test("a body that trickles is given a minute: 504", async () => {
    const seen = await client.raw(request(`POST ${CONFIG_MAPS}`, ["Content-Length: 1000"], "{"));
    expect(statuses(seen)).toEqual([504]);
    expect(seen).toContain(
      '"message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout"',
    );
  });

  test("or as long as they say themselves", async () => {
    const seen = client.raw(request(`POST ${CONFIG_MAPS}?timeout=3s`, ["Transfer-Encoding: chunked"], "2"));
    expect(statuses(await seen)).toEqual([504]);
  });

  test("a body in pieces of one byte is a body", async () => {
    const socket = await client.connect();
    const text = JSON.stringify({ metadata: { name: "slowly" } });
    const head = request(`POST ${CONFIG_MAPS}`, ["Connection: close", `Content-Length: ${text.length}`]);
    let seen = "";
    socket.on("data", (data) => {
      seen += String(data);
    });
    for (const byte of `${head}${text}`) await new Promise((resolve) => socket.write(byte, resolve));
    await new Promise((resolve) => socket.once("close", resolve));
    expect(statuses(seen)).toEqual([201]);
  });
});
