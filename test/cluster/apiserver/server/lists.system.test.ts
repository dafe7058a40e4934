import { createHash, randomBytes } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Face } from "./support.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
/** 40 of 50 kB: many pieces of a list's text. */
const COUNT = 40;

let face: Face;
beforeAll(async () => {
  face = await Face.open();
  for (let i = 0; i < COUNT; i++) {
    const data = { a: String.fromCharCode(97 + (i % 26)).repeat(50_000), ü: "ü€😀" };
    const name = `m-${String(i).padStart(2, "0")}`;
    await face.ask(CONFIG_MAPS, { method: "POST", body: { metadata: { name }, data: { a: data.a, u: data.ü } } });
  }
});
afterAll(() => face.close());

/** A client with its own connection. */
const list = (query = "", headers: Record<string, string> = {}) =>
  face.ask(`${CONFIG_MAPS}${query}`, { as: { ...face.admin }, headers });

describe("long lists", () => {
  test("are written in pieces, and read as a whole", async () => {
    const { headers, body, text } = await list();
    expect(headers["transfer-encoding"]).toBe("chunked");
    expect(text.endsWith("]}\n")).toBe(true);
    expect(body.items.map((one: { data: { a: string; u: string } }) => [one.data.a.length, one.data.u])).toEqual(
      new Array(COUNT).fill([50_000, "ü€😀"]),
    );
  });

  test("concurrent lists do not mix, although they share buffers", async () => {
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    const want = hash((await list()).text);
    for (let round = 0; round < 3; round++) {
      const texts = await Promise.all(Array.from({ length: 20 }, () => list()));
      expect(new Set(texts.map(({ text }) => hash(text)))).toEqual(new Set([want]));
    }
  });

  test("show one revision, however slowly the client reads", async () => {
    const response = await face.open(CONFIG_MAPS, { as: { ...face.admin } });
    const name = "m-39";
    const headers = { "content-type": "application/merge-patch+json" };
    await face.ask(`${CONFIG_MAPS}/${name}`, { method: "PATCH", headers, body: { data: { a: "changed" } } });
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const { items } = JSON.parse(Buffer.concat(chunks).toString());
    expect(items[39].data.a.length).toBe(50_000);
    expect((await list()).body.items[39].data.a).toBe("changed");
  });

  test("shorter lists are written at once, with a Content-Length where upstream sends one", async () => {
    const { headers, body } = await list("?limit=1&fieldSelector=metadata.name%3Dnothing");
    expect([headers["content-length"] !== undefined, body.items]).toEqual([true, []]);
  });

  test("are compressed in pieces too", async () => {
    const headers = { "accept-encoding": "gzip" };
    const [response, { text }] = [await face.open(CONFIG_MAPS, { as: { ...face.admin }, headers }), await list()];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    expect([response.headers["content-encoding"], response.headers["vary"]]).toEqual(["gzip", "Accept-Encoding"]);
    expect(gunzipSync(Buffer.concat(chunks)).toString()).toBe(text);
  });

  for (const headers of [{}, { "accept-encoding": "gzip" }]) {
    const what = `a list ${JSON.stringify(headers)} that the client does not read`;
    test(`${what} is abandoned after a minute`, async () => {
      await using other = await Face.open();
      for (let i = 0; i < 16; i++) {
        const data = { a: randomBytes(675_000).toString("base64") };
        await other.ask(CONFIG_MAPS, { method: "POST", body: { metadata: { name: `big-${i}` }, data } });
      }
      const response = await other.open(CONFIG_MAPS, { as: { ...other.admin }, headers });
      const gone = new Promise((resolve) => response.once("aborted", resolve));
      while (other.clock.sleeping < 1) await other.ask("/version");
      await other.clock.advance(60_000);
      response.on("error", () => {}).resume();
      await gone;
      expect([response.complete, other.clock.sleeping]).toEqual([false, 0]);
    });
  }
});
