import assert from "node:assert/strict";
import { createServer } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { describe, test } from "vitest";
import { ClientSession } from "../../../src/cri/transport/client-session.js";
import { Http2Error } from "../../../src/cri/transport/frames.js";
import { HeaderEncoder } from "../../../src/cri/transport/header-encoder.js";
import { encodeField, HeaderDecoder } from "../../../src/cri/transport/hpack.js";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ""), "hex");

const PRIVATE = { "cache-control": "private" };
const DATE = { date: "Mon, 21 Oct 2013 20:13:21 GMT" };
const LOCATION = { location: "https://www.example.com" };

/** RFC 7541, appendix C: blocks of one connection, in order; what they mean. */
const examples = [
  [
    "C.2.1: a literal field that is remembered",
    ["400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", { "custom-key": "custom-header" }],
    ["be", { "custom-key": "custom-header" }],
  ],
  ["C.2.2: a literal field that is not", ["040c 2f73 616d 706c 652f 7061 7468", { ":path": "/sample/path" }]],
  ["C.2.3: one that never shall be", ["1008 7061 7373 776f 7264 0673 6563 7265 74", { password: "secret" }]],
  [
    "C.4: requests in Huffman's code",
    [
      "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
      { ":method": "GET", ":scheme": "http", ":path": "/", ":authority": "www.example.com" },
    ],
    [
      "8286 84be 5886 a8eb 1064 9cbf",
      {
        ":method": "GET",
        ":scheme": "http",
        ":path": "/",
        ":authority": "www.example.com",
        "cache-control": "no-cache",
      },
    ],
    [
      "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
      {
        ":method": "GET",
        ":scheme": "https",
        ":path": "/index.html",
        ":authority": "www.example.com",
        "custom-key": "custom-value",
      },
    ],
  ],
  [
    "C.6: responses in Huffman's code, with a table of 256 bytes, from which entries are evicted",
    [
      `3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718
       63c7 8f0b 97c8 e9ae 82ae 43d3`,
      { ":status": "302", ...PRIVATE, ...DATE, ...LOCATION },
    ],
    ["4883 640e ffc1 c0bf", { ":status": "307", ...PRIVATE, ...DATE, ...LOCATION }],
    [
      `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
       dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
      {
        ":status": "200",
        ...PRIVATE,
        date: "Mon, 21 Oct 2013 20:13:22 GMT",
        ...LOCATION,
        "content-encoding": "gzip",
        "set-cookie": "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
      },
    ],
  ],
] as const;
for (const [name, ...blocks] of examples) {
  test(`hpack: ${name}`, () => {
    const decoder = new HeaderDecoder();
    for (const [block, fields] of blocks) assert.deepEqual(decoder.decode(hex(block)), fields);
  });
}

test("hpack: an evicted entry is gone", () => {
  const decoder = new HeaderDecoder();
  decoder.decode(hex("3fe101 4882 6402")); // :status 302
  assert.deepEqual(decoder.decode(hex("be")), { ":status": "302" });
  decoder.decode(hex("20")); // a table of no bytes at all
  assert.throws(() => decoder.decode(hex("be")), Http2Error);
});

test("hpack: a short block is another one once the table has changed", () => {
  const decoder = new HeaderDecoder();
  decoder.decode(hex("4001 6101 31")); // a: 1
  for (const round of [0, 1]) assert.deepEqual(decoder.decode(hex("be")), { a: "1" }, `${round}`);
  decoder.decode(hex("4001 6201 32")); // b: 2
  for (const round of [0, 1]) assert.deepEqual(decoder.decode(hex("be")), { b: "2" }, `${round}`);
  for (const round of [0, 1]) assert.deepEqual(decoder.decode(hex("40 00 00")), { "": "" }, `${round}`);
  assert.deepEqual(decoder.decode(hex("bf")), { "": "" }, "it was remembered each time");
});

describe("hpack: refuses", () => {
  const table = [
    ["field 0", "80"],
    ["a field that nobody sent", "be"],
    ["a block that ends in a length", "40"],
    ["a block that ends in a text", "4003 61"],
    ["a number without end", "ff ff ff ff ff ff 01"],
    ["a table larger than was agreed", "3f e2 1f"],
    ["a text that is not filled up with ones", "0081 1d 00"],
    ["a text with more than a byte of filling", "0082 1fff 00"],
    ["a text with the code of its end in it", "0084 ffff ffff 00"],
  ] as const;
  for (const [name, block] of table) {
    test(name, () => assert.throws(() => new HeaderDecoder().decode(hex(block)), Http2Error));
  }
});

test("hpack: Huffman's code as another implementation writes it", async () => {
  const value = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).join("");
  const seen: (string | undefined)[] = [];
  const server = createServer((_request, response) => {
    response.writeHead(200, { "x-value": value });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await new Promise<void>((resolve) => {
    const session: ClientSession = new ClientSession(
      socket,
      () => {
        const head = [
          [":method", "GET"],
          [":scheme", "http"],
          [":path", "/"],
          [":authority", "localhost"],
        ] as const;
        session.request(head, Buffer.alloc(0), {
          headers: (fields) => seen.push(fields["x-value"]),
          data: () => {},
          closed: () => resolve(),
        });
      },
      () => {},
    );
    socket.on("data", (chunk: Buffer) => session.received(chunk));
  });
  assert.deepEqual(seen, [value]);
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

test("hpack: what we send can be read, whatever its length", () => {
  for (const length of [0, 1, 126, 127, 128, 254, 255, 300, 20_000]) {
    const value = "x".repeat(length);
    assert.deepEqual(new HeaderDecoder().decode(encodeField("name", value)), { name: value });
  }
});

describe("hpack: heads of requests", () => {
  const head = (path: string) => [[":path", path] as const, ["user-agent", "kubelab"] as const];
  const fields = (path: string) => ({ ":path": path, "user-agent": "kubelab" });

  test("a field is sent once, and by its number from then on", () => {
    const [encoder, decoder] = [new HeaderEncoder(), new HeaderDecoder()];
    const [one, other] = [head("/one"), head("/other")];
    const blocks = [one, one, other, one, other, one].map((each) => encoder.block(each));
    const expected = ["/one", "/one", "/other", "/one", "/other", "/one"].map(fields);
    assert.deepEqual(
      blocks.map((block) => decoder.decode(block)),
      expected,
    );
    assert.deepEqual(
      blocks.slice(3).map((block) => block.length),
      [2, 2, 2],
    );
  });

  test("more fields than the table has room for: the last ones in full", () => {
    const [encoder, decoder] = [new HeaderEncoder(), new HeaderDecoder()];
    const heads = Array.from({ length: 200 }, (_, i) => head(`/${i}`));
    for (const round of [0, 1]) {
      for (const [i, each] of heads.entries()) {
        assert.deepEqual(decoder.decode(encoder.block(each)), fields(`/${i}`), `${i} in round ${round}`);
      }
    }
  });

  test("the other side keeps a smaller table: none is asked for", () => {
    const [encoder, decoder] = [new HeaderEncoder(), new HeaderDecoder()];
    const one = head("/one");
    decoder.decode(encoder.block(one));
    encoder.limit(4095);
    assert.deepEqual(decoder.decode(encoder.block(one)), fields("/one"));
    assert.throws(() => decoder.decode(hex("be")), Http2Error, "the table is empty");
    for (const round of [0, 1])
      assert.deepEqual(new HeaderDecoder().decode(encoder.block(one)), fields("/one"), `${round}`);
  });
});
