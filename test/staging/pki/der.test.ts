import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import { parseCertificate } from "../../../src/staging/pki/certificate.js";
import { parseCertificateRequest } from "../../../src/staging/pki/csr.js";
import {
  childrenOf,
  contentOf,
  DerError,
  type DerNode,
  encodeDer,
  expectEnd,
  oidOf,
  readDer,
  stringOf,
  timeMs,
} from "../../../src/staging/pki/der.js";
import { CERTIFICATE, CERTIFICATION_REQUEST } from "../../../src/staging/pki/der-shapes.js";
import { walkDer } from "../../../src/staging/pki/der-walk.js";
import {
  bitString,
  boolean,
  context,
  contextString,
  directoryString,
  integer,
  nullValue,
  octetString,
  oid,
  sequence,
  setOf,
  time,
} from "../../../src/staging/pki/der-write.js";

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));

const leaves = [
  bytes.map(octetString),
  bytes.map((content) => bitString(content)),
  bytes.map(integer),
  fc.boolean().map(boolean),
  fc.constant(nullValue()),
  fc.string().map(directoryString),
  // node-forge reads any primitive with tag number 2 or 30 as INTEGER or BMPString, whatever its class.
  fc.tuple(fc.constantFrom(0, 1, 6, 7, 29), bytes).map(([tag, content]) => contextString(tag, content)),
];

/** Any tree of values that can be created. */
const { tree } = fc.letrec<{ tree: DerNode }>((tie) => {
  const children = fc.array(tie("tree"), { maxLength: 4 });
  return {
    tree: fc.oneof(
      { depthSize: "small" },
      ...leaves,
      children.map((parts) => sequence(...parts)),
      children.map((parts) => setOf(...parts)),
      fc.tuple(fc.integer({ min: 0, max: 30 }), children).map(([tag, parts]) => context(tag, ...parts)),
    ),
  };
});

describe("round trips", () => {
  test("a document is read back as it was created, and the walk finds every value at its offset", () => {
    fc.assert(
      fc.property(tree, (node) => {
        const der = encodeDer(node);
        assert.ok(encodeDer(readDer(der)).equals(der));
        const { rows, problem } = walkDer(der);
        assert.equal(problem, undefined);
        const seen: Buffer[] = [];
        const visit = (one: DerNode) => {
          seen.push(encodeDer(one));
          childrenOf(one).forEach(visit);
        };
        visit(node);
        assert.deepEqual(
          rows.map(({ offset, headerLength, length }) => der.subarray(offset, offset + headerLength + length)),
          seen,
        );
      }),
    );
  });

  test("object identifiers", () => {
    const arc = fc.integer({ min: 0, max: 2 ** 32 - 1 });
    const dotted = fc
      .tuple(fc.constantFrom(0, 1, 2), fc.integer({ min: 0, max: 39 }), fc.array(arc, { maxLength: 8 }))
      .map(([top, second, rest]) => [top, second, ...rest].join("."));
    fc.assert(fc.property(dotted, (text) => assert.equal(oidOf(readDer(encodeDer(oid(text)))), text)));
    assert.equal(oidOf(readDer(encodeDer(oid("2.999.3")))), "2.999.3");
  });

  test("times from 1950 to 2200, whole seconds", () => {
    const ms = fc.integer({ min: Date.UTC(1950, 0, 1) / 1000, max: Date.UTC(2200, 0, 1) / 1000 }).map((s) => s * 1000);
    fc.assert(
      fc.property(ms, fc.integer({ min: 0, max: 999 }), (at, fraction) => {
        const node = readDer(encodeDer(time(at + fraction)));
        assert.equal(timeMs(node), at);
        assert.equal(node.type, new Date(at).getUTCFullYear() < 2050 ? 23 : 24);
      }),
    );
  });

  test("strings, and their types", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) =>
        assert.equal(stringOf(readDer(encodeDer(directoryString(text)))), text),
      ),
    );
    for (const [text, type] of [
      ["system:node:n-1.example", 19],
      ["a b'()+,-./:=?", 19],
      ["a*b", 12],
      ["a&b", 12],
      ["a_b", 12],
      ["a@b", 12],
      ["é", 12],
      ["", 19],
    ] as const) {
      assert.equal(directoryString(text).type, type, text);
    }
    assert.equal(stringOf(readDer(Buffer.from("1e0400e920ac", "hex"))), "é€");
  });
});

describe("integers are minimal", () => {
  for (const [value, want] of [
    [0, "020100"],
    [2, "020102"],
    [127, "02017f"],
    [128, "02020080"],
    [65537, "0203010001"],
    [Buffer.from("0000ff", "hex"), "020200ff"],
    [Buffer.from("00007f", "hex"), "02017f"],
    [Buffer.alloc(16), "020100"],
    [Buffer.alloc(0), "020100"],
  ] as const) {
    test(`${typeof value === "number" ? value : `<${value.toString("hex")}>`} -> ${want}`, () => {
      assert.equal(encodeDer(integer(value)).toString("hex"), want);
    });
  }
});

describe("invalid DER", () => {
  for (const [hex, message, offset] of [
    ["", "asn1: syntax error: sequence truncated", 0],
    ["30", "asn1: syntax error: truncated tag or length", 0],
    ["3003", "asn1: syntax error: data truncated", 2],
    ["300301", "asn1: syntax error: data truncated", 2],
    ["0480", "asn1: syntax error: indefinite length found (not DER)", 0],
    ["30800000", "asn1: structure error: a length or an integer is not minimal (not DER)", 1],
    ["308103020101", "asn1: structure error: a length or an integer is not minimal (not DER)", 1],
    ["30820003020101", "asn1: structure error: a length or an integer is not minimal (not DER)", 1],
    ["300402020001", "asn1: structure error: a length or an integer is not minimal (not DER)", 1],
    ["308500000000010203", "asn1: structure error: length too large", 0],
    ["3084ffffffff010203", "asn1: structure error: length too large", 0],
    ["1f", "asn1: syntax error: truncated tag or length", 0],
  ] as const) {
    test(`${hex || "(nothing)"}: ${message}`, () => {
      assert.throws(() => readDer(Buffer.from(hex, "hex")), { name: "DerError", message, offset });
      assert.notEqual(walkDer(Buffer.from(hex, "hex")).problem, undefined);
    });
  }

  test("bytes after the end", () => {
    const der = Buffer.from("020105ff", "hex");
    const message = "asn1: syntax error: trailing data";
    assert.throws(() => expectEnd(readDer(der), der), { name: "DerError", message, offset: 3 });
    assert.deepEqual(walkDer(der).problem, { message, offset: 3 });
    for (const parse of [parseCertificate, parseCertificateRequest]) {
      assert.throws(() => parse(der), { name: "DerError" });
    }
  });

  test("a long length is read: 200 and 70000 bytes", () => {
    for (const size of [127, 128, 200, 255, 256, 70_000]) {
      assert.equal(contentOf(readDer(encodeDer(octetString(Buffer.alloc(size))))).length, size);
    }
  });

  test("random bytes, and valid DER of another structure, throw a DerError and nothing else", () => {
    fc.assert(
      fc.property(fc.oneof(bytes, tree.map(encodeDer)), (der) => {
        for (const parse of [parseCertificate, parseCertificateRequest]) {
          try {
            parse(der);
          } catch (error) {
            assert.ok(error instanceof DerError, String(error));
          }
        }
        walkDer(der, CERTIFICATE);
        walkDer(der, CERTIFICATION_REQUEST);
      }),
      { numRuns: 300 },
    );
  });

  test("depth is limited", () => {
    let node = nullValue();
    for (let i = 0; i < 100; i++) node = sequence(node);
    const message = "asn1: structure error: nested too deeply";
    assert.throws(() => readDer(encodeDer(node)), { name: "DerError", message });
    const walk = walkDer(encodeDer(node));
    assert.equal(walk.problem?.message, message);
    assert.equal(walk.rows.length, 33);
  });

  test("size is limited", () => {
    const der = encodeDer(octetString(Buffer.alloc(131_072)));
    assert.throws(() => readDer(der), { name: "DerError", message: /longer than 131072 bytes/ });
  });

  test("an object identifier with an arc of 128 bits is refused, as in Go", () => {
    const der = Buffer.from(`0612${"ff".repeat(17)}7f`, "hex");
    const message = "asn1: structure error: base 128 integer too large";
    assert.throws(() => oidOf(readDer(der)), { name: "DerError", message });
  });
});
