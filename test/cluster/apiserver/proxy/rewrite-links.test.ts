import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { test } from "vitest";
import { LinkRewriter, rewriteUrl } from "../../../../src/cluster/apiserver/proxy/rewrite-links.js";

const SOURCE = { host: "10.244.0.9:80", requestHost: "localhost:8001", pathPrepend: "/p/proxy" };

const URLS: readonly (readonly [string, string])[] = [
  ["/x", "/p/proxy/x"],
  ["/", "/p/proxy/"],
  ["/a/../b/?q=/c#d", "/p/proxy/b/?q=/c#d"],
  ["x/y", "x/y"],
  ["#top", "#top"],
  ["", ""],
  ["/p/proxy/x", "/p/proxy/x"],
  ["http://10.244.0.9:80/x", "/p/proxy/x"],
  ["http://localhost:8001/x", "http://localhost:8001/p/proxy/x"],
  ["//10.244.0.9:80/x", "/p/proxy/x"],
  ["https://example.org/x", "https://example.org/x"],
  ["mailto:a@b", "mailto:a@b"],
];
for (const [url, want] of URLS) {
  test(`the address ${JSON.stringify(url)} of a proxied page becomes ${JSON.stringify(want)}`, () => {
    assert.equal(rewriteUrl(url, SOURCE), want);
  });
}

const PAGES: readonly (readonly [string, string, string])[] = [
  ["a link", '<a href="/x">x</a>', '<a href="/p/proxy/x">x</a>'],
  ["several attributes", "<IMG alt='/no' SRC='/i' usemap=/m>", "<IMG alt='/no' SRC='/p/proxy/i' usemap=/p/proxy/m>"],
  ["a tag without addresses", '<div href="/x" title="a > b">', '<div href="/x" title="a > b">'],
  ["a > in quotes", '<a title="a > b" href="/x">', '<a title="a > b" href="/p/proxy/x">'],
  ["a comment", '<!-- <a href="/x"> --><a href="/x">', '<!-- <a href="/x"> --><a href="/p/proxy/x">'],
  [
    "a script",
    '<script src="/s">"<a href=\'/x\'>"</SCRIPT><a href="/x">',
    '<script src="/p/proxy/s">"<a href=\'/x\'>"</SCRIPT><a href="/p/proxy/x">',
  ],
  ["an unfinished tag", 'a < b <a href="/x"', 'a < b <a href="/x"'],
  ["other characters", '<p>grüße ☃ <a href="/ü">', '<p>grüße ☃ <a href="/p/proxy/ü">'],
];
for (const [what, page, want] of PAGES) {
  test(`a proxied page with ${what}, in one piece and byte by byte`, async () => {
    const bytes = Buffer.from(page);
    for (const pieces of [[bytes], [...bytes].map((byte) => Buffer.of(byte))]) {
      const rewriter = new LinkRewriter(SOURCE);
      for (const piece of pieces) rewriter.write(piece);
      rewriter.end();
      assert.equal(await text(rewriter), want);
    }
  });
}

test("tags without end do not hold the page back", async () => {
  const rewriter = new LinkRewriter(SOURCE);
  // Quadratic work would exceed the time of a test.
  const page = `${"<".repeat(200_000)}${'<a b="'.repeat(20_000)}<a href='${"x".repeat(200_000)}`;
  rewriter.end(page);
  assert.equal(await text(rewriter), page);
});
