import assert from "node:assert/strict";
import fc from "fast-check";
import forge from "node-forge";
import { describe, test } from "vitest";
import { parseCertificate } from "../../src/pki/certificate.js";
import { parseCertificateRequest } from "../../src/pki/csr.js";
import { DerError, derChildren, oidText, readDer, stringValue, timeMs } from "../../src/pki/der.js";
import { CERTIFICATE, CERTIFICATION_REQUEST } from "../../src/pki/der-shapes.js";
import { walkDer } from "../../src/pki/der-walk.js";
import {
  bitString,
  boolean,
  context,
  contextString,
  derValue,
  directoryString,
  integer,
  nullValue,
  octetString,
  oid,
  sequence,
  setOf,
  time,
} from "../../src/pki/der-write.js";

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));

/** Values without a name of their own class. */
const universal = [
  bytes.map(octetString),
  bytes.map((content) => bitString(content)),
  bytes.map(integer),
  fc.boolean().map(boolean),
  fc.constant(nullValue()),
  fc.string().map(directoryString),
];
const contextual = fc
  .tuple(fc.integer({ min: 0, max: 30 }), bytes)
  .map(([tag, content]) => contextString(tag, content));

/** Any tree of values that our writer can write, with these leaves. */
function treeOf(...leaves: readonly fc.Arbitrary<Buffer>[]): fc.Arbitrary<Buffer> {
  return fc.letrec<{ tree: Buffer }>((tie) => {
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
  }).tree;
}
const tree = treeOf(...universal, contextual);

describe("round trips", () => {
  test("what is written is read back, every child where it says it is", () => {
    fc.assert(
      fc.property(tree, (der) => {
        const check = (at: number): void => {
          const node = readDer(der, at);
          assert.equal(node.offset, at);
          assert.ok(node.whole.equals(der.subarray(at, at + node.whole.length)));
          if (!node.constructed) return;
          const children = derChildren(node);
          assert.ok(Buffer.concat(children.map((child) => child.whole)).equals(node.content));
          for (const child of children) check(child.offset);
        };
        check(0);
        assert.equal(readDer(der).whole.length, der.length);
      }),
    );
  });

  test("node-forge, which is somebody else's codec, reads and writes the same bytes", () => {
    // It reads a primitive [2] as if it were an INTEGER: strings of the context class are left out.
    fc.assert(
      fc.property(treeOf(...universal), (der) => {
        const parsed = forge.asn1.fromDer(forge.util.createBuffer(der.toString("binary")), true);
        assert.equal(Buffer.from(forge.asn1.toDer(parsed).getBytes(), "binary").toString("hex"), der.toString("hex"));
      }),
    );
  });

  test("object identifiers", () => {
    const arc = fc.bigInt({ min: 0n, max: 2n ** 70n });
    const dotted = fc
      .tuple(fc.constantFrom(0n, 1n, 2n), fc.bigInt({ min: 0n, max: 39n }), fc.array(arc, { maxLength: 8 }))
      .map(([top, second, rest]) => [top, second, ...rest].join("."));
    fc.assert(fc.property(dotted, (text) => assert.equal(oidText(readDer(oid(text)).content), text)));
    assert.equal(oidText(readDer(oid("2.999.3")).content), "2.999.3");
  });

  test("times from 1950 to 2200, whole seconds", () => {
    const ms = fc.integer({ min: Date.UTC(1950, 0, 1) / 1000, max: Date.UTC(2200, 0, 1) / 1000 }).map((s) => s * 1000);
    fc.assert(
      fc.property(ms, fc.integer({ min: 0, max: 999 }), (at, fraction) => {
        const node = readDer(time(at + fraction));
        assert.equal(timeMs(node), at);
        assert.equal(node.tag, new Date(at).getUTCFullYear() < 2050 ? 23 : 24);
      }),
    );
  });

  test("strings, and which type they get", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) =>
        assert.equal(stringValue(readDer(directoryString(text))), text),
      ),
    );
    for (const [text, tag] of [
      ["system:node:n-1.example", 19],
      ["a b'()+,-./:=?", 19],
      ["a*b", 12],
      ["a&b", 12],
      ["a_b", 12],
      ["a@b", 12],
      ["é", 12],
      ["", 19],
    ] as const) {
      assert.equal(readDer(directoryString(text)).tag, tag, text);
    }
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
      assert.equal(integer(value).toString("hex"), want);
    });
  }
});

describe("what is no DER", () => {
  for (const [hex, message] of [
    ["", "asn1: syntax error: sequence truncated"],
    ["30", "asn1: syntax error: truncated tag or length"],
    ["3003", "asn1: syntax error: data truncated"],
    ["300301", "asn1: syntax error: data truncated"],
    ["3080", "asn1: syntax error: indefinite length found (not DER)"],
    ["308103010203", "asn1: structure error: non-minimal length"],
    ["30820003010203", "asn1: structure error: superfluous leading zeros in length"],
    ["308500000000010203", "asn1: structure error: length too large"],
    ["1f", "asn1: syntax error: truncated base 128 integer"],
    ["3fffffffffff7f00", "asn1: syntax error: base 128 integer too large"],
  ] as const) {
    test(`${hex || "(nothing)"}: ${message}`, () => {
      assert.throws(() => readDer(Buffer.from(hex, "hex")), { name: "DerError", message });
    });
  }

  test("a long length is read: 200 and 70000 bytes", () => {
    for (const size of [127, 128, 200, 255, 256, 70_000]) {
      assert.equal(readDer(derValue(4, Buffer.alloc(size))).content.length, size);
    }
  });

  test("rubbish, and sound DER of another shape, bring a DerError and nothing else", () => {
    fc.assert(
      fc.property(fc.oneof(bytes, tree), (der) => {
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

  test("nesting without end is cut off", () => {
    let der = nullValue();
    for (let i = 0; i < 100; i++) der = sequence(der);
    const walk = walkDer(der);
    assert.equal(walk.problem?.message, "nested too deeply");
    assert.equal(walk.rows.length, 33);
  });
});
