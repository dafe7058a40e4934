import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toYaml } from "../../../../../src/cluster/apiserver/endpoints/yaml.js";
import { Face } from "../../server/support.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

let face: Face;
beforeAll(async () => {
  face = await Face.open();
});
afterAll(() => face.close());

function apply(name: string, manager: string, data: Record<string, string>, query = "") {
  const headers = { "content-type": "application/apply-patch+yaml" };
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
  const path = `${CONFIG_MAPS}/${name}?${manager === "" ? "" : `fieldManager=${manager}`}${query}`;
  return face.ask(path, { method: "PATCH", headers, body });
}

describe("server-side apply", () => {
  test("needs a manager, creates a missing object, merges into an existing one", async () => {
    expect((await apply("a", "", {})).body.message).toContain("fieldManager: Required value");
    expect((await apply("a", "one", { x: "1" }, "&dryRun=All")).status).toBe(201);
    expect((await face.ask(`${CONFIG_MAPS}/a`)).status).toBe(404);
    expect((await apply("a", "one", { x: "1" })).status).toBe(201);
    const merged = await apply("a", "two", { y: "2" });
    expect([merged.status, merged.body.data]).toEqual([200, { x: "1", y: "2" }]);
  });

  test("removes fields that a manager omits, unless another one applies them too", async () => {
    await apply("b", "one", { x: "1", y: "1", z: "1" });
    await apply("b", "two", { y: "1" });
    expect((await apply("b", "one", { x: "1" })).body.data).toEqual({ x: "1", y: "1" });
  });

  test("another applier's field is a conflict, and force transfers its ownership", async () => {
    await apply("c", "one", { x: "1" });
    const conflict = await apply("c", "two", { x: "2" });
    expect([conflict.status, conflict.body.reason]).toEqual([409, "Conflict"]);
    expect(conflict.body.message).toBe('Apply failed with 1 conflict: conflict with "one": .data.x');
    expect((await apply("c", "two", { x: "2" }, "&force=true")).body.data).toEqual({ x: "2" });
    expect((await apply("c", "two", { x: "3" })).status).toBe(200);
  });

  test("several conflicts are named by manager", async () => {
    await apply("d", "two", { y: "1" });
    await apply("d", "one", { x: "1", z: "1" });
    const { body } = await apply("d", "three", { x: "2", y: "2", z: "2" });
    const parts = ['conflicts with "one":', "- .data.x", "- .data.z", 'conflicts with "two":', "- .data.y"];
    expect(body.message).toBe(`Apply failed with 3 conflicts: ${parts.join("\n")}`);
  });

  test("force does not take a field from a manager that wants the same value", async () => {
    await apply("e", "one", { x: "1", y: "1" });
    await apply("e", "two", { x: "1", y: "2" }, "&force=true");
    expect((await apply("e", "two", {})).body.data).toEqual({ x: "1" });
    expect((await apply("e", "one", {})).body.data ?? {}).toEqual({});
  });
});

describe("kubectl's last-applied annotation", () => {
  const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
  const rows: [what: string, manager: string, annotations: Record<string, string>, want: string | undefined][] = [
    [
      "follows what kubectl applies",
      "kubectl",
      { [LAST_APPLIED]: "{}" },
      '{"apiVersion":"v1","data":{"x":"\\u003c\\u0026"},"kind":"ConfigMap","metadata":{"name":"l0"}}\n',
    ],
    ["ignores other managers", "one", { [LAST_APPLIED]: "{}" }, "{}"],
    ["is not added to an object without it", "kubectl", {}, undefined],
  ];
  for (const [i, [what, manager, annotations, want]] of rows.entries()) {
    test(what, async () => {
      const body = { metadata: { name: `l${i}`, annotations } };
      expect((await face.ask(CONFIG_MAPS, { method: "POST", body })).status).toBe(201);
      const { body: applied } = await apply(`l${i}`, manager, { x: "<&" });
      expect(applied.metadata.annotations?.[LAST_APPLIED]).toBe(want);
    });
  }
});

describe("YAML", () => {
  const FOLDED = `${"word ".repeat(15)}${"x".repeat(20)}`;
  const LONG = `${FOLDED} end`;
  const rows: [value: unknown, want: string][] = [
    [{ b: 1, a: "x" }, "a: x\nb: 1\n"],
    [{ a: "yes", b: "1", c: "", d: null, e: true }, 'a: "yes"\nb: "1"\nc: ""\nd: null\ne: true\n'],
    [{ t: "2026-01-01T00:00:00Z" }, 't: "2026-01-01T00:00:00Z"\n'],
    [{ a: [{ b: 1, c: 2 }], e: [], m: {} }, "a:\n- b: 1\n  c: 2\ne: []\nm: {}\n"],
    [{ a: "x: y", b: "# no" }, "a: 'x: y'\nb: '# no'\n"],
    [{ a: "one\ntwo\n" }, "a: |\n  one\n  two\n"],
    // A line is folded at the first space after column 80, not at the last one before it.
    [{ a: [{ b: LONG }, LONG] }, `a:\n- b: ${FOLDED}\n    end\n- ${FOLDED}\n  end\n`],
    [{ a: `x: ${"y".repeat(80)} end` }, `a: 'x: ${"y".repeat(80)}\n  end'\n`],
    [{ a: `${LONG}\n${LONG}\n`, b: 1 }, `a: |\n  ${LONG}\n  ${LONG}\nb: 1\n`],
    [{ a: `${"x".repeat(90)} y` }, `a: ${"x".repeat(90)}\n  y\n`],
  ];
  test.each(rows)("%j", (value, want) => expect(toYaml(value)).toBe(want));
});

describe("health", () => {
  test("verbose, excluded, single, unknown", async () => {
    const text = async (path: string) => (await face.ask(path)).text;
    expect(await text("/livez")).toBe("ok");
    expect(await text("/livez?verbose&exclude=storage&exclude=nope")).toMatch(
      /^\[\+\]ping ok\n\[\+\]storage excluded: ok\n[\s\S]*no matches for "nope"\nlivez check passed\n$/,
    );
    expect(await text("/readyz/storage")).toBe("ok");
    expect((await face.ask("/livez/shutdown")).status).toBe(404);
    expect((await face.ask("/readyz/nope")).text).toBe("404 page not found\n");
  });

  test("metrics count requests and stored objects", async () => {
    const { text } = await face.ask("/metrics");
    expect(text).toMatch(/^apiserver_request_total\{code="200",resource="configmaps",verb="PATCH"\} \d+$/m);
    expect(text).toMatch(/^apiserver_storage_objects\{resource="namespaces"\} 4$/m);
  });

  test("an OpenAPI document is sent again only when it changed", async () => {
    const { paths } = (await face.ask("/openapi/v3")).body;
    const first = await face.ask(paths["apis/coordination.k8s.io/v1"].serverRelativeURL);
    expect(first.body.components.schemas["io.k8s.api.coordination.v1.Lease"]).toBeDefined();
    const headers = { "if-none-match": first.headers.etag ?? "" };
    const again = await face.ask(paths["apis/coordination.k8s.io/v1"].serverRelativeURL, { headers });
    expect([again.status, again.text]).toEqual([304, ""]);
  });
});
