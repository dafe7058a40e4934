import { describe, expect, test } from "vitest";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { Trace } from "../../../../src/trace/trace.js";
import { formatTraceparent } from "../../../../src/trace/traceparent.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { only } from "../../../support/trace.js";
import { ANONYMOUS, Face } from "./support.js";

function collect(face: Face): TraceEvent[] {
  const events: TraceEvent[] = [];
  face.trace.addSink({ write: (event) => events.push(event) });
  return events;
}

async function decisionsOf(run: (face: Face) => Promise<void>): Promise<string[]> {
  await using face = await Face.open();
  const events = collect(face);
  await run(face);
  return events.flatMap((event) => {
    if (event.kind !== "decision" || event.auditId !== "mine") return [];
    expect([event.actor, event.level]).toEqual(["apiserver", 3]);
    const changes = event.changes?.map(({ op, path }) => ` ${op} ${path}`) ?? [];
    return [`${event.what} | ${event.why}${changes.join("")}`];
  });
}

const headers = { "audit-id": "mine" };

test("a forbidden request: the user, the credential and the reason", async () => {
  const decisions = await decisionsOf(async (face) => {
    await face.ask("/api/v1/nodes", { as: ANONYMOUS, headers });
  });
  expect(decisions.map((line) => line.split(" | ")[0])).toEqual([
    "give the request the audit ID mine",
    "list nodes, version v1",
    "set Cache-Control: no-cache, private",
    "collect warnings",
    "count it among the responses in progress",
    "is system:anonymous",
    "forbid list /api/v1/nodes",
    "answer 403: 256 bytes of application/json",
  ]);
});

test("an unknown token", async () => {
  const decisions = await decisionsOf(async (face) => {
    await face.ask("/api/v1/nodes", { as: { token: "abcdef.0123456789abcdef" }, headers });
  });
  expect(decisions[5]).toMatch(/^401 Unauthorized \| /);
  expect(decisions.join("\n")).not.toContain("0123456789abcdef");
});

test("what admission changes and refuses", async () => {
  const decisions = await decisionsOf(async (face) => {
    const node = { kind: "Node", apiVersion: "v1", metadata: { name: "n1" } };
    await face.ask("/api/v1/nodes", { method: "POST", headers, body: node });
    const configMap = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "x" } };
    await face.ask("/api/v1/namespaces/missing/configmaps", { method: "POST", headers, body: configMap });
  });
  expect(decisions.filter((line) => /^(change|refuse)/.test(line))).toEqual([
    "change create of nodes n1 by TaintNodesByCondition | the plugin handles CREATE of nodes add /spec/taints",
    'refuse create of configmaps missing/x | NamespaceLifecycle: namespaces "missing" not found',
  ]);
});

describe("causes", () => {
  const TRACEPARENT = formatTraceparent("00000000000000aa");
  const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
  const configMap = (value: string) => ({
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name: "x" },
    data: { value },
  });

  test("each write is a fact, with the version it made and its request as the cause", async () => {
    await using face = await Face.open();
    const events = collect(face);
    const versions: string[] = [];
    const send = async (method: string, path: string, body?: unknown) => {
      const asked = { method, headers: { traceparent: TRACEPARENT }, ...(body === undefined ? {} : { body }) };
      const { metadata } = (await face.ask(path, asked)).body;
      versions.push(`${metadata.uid}@${metadata.resourceVersion}`);
    };
    await send("POST", CONFIG_MAPS, configMap("a"));
    await send("PUT", `${CONFIG_MAPS}/x`, configMap("b"));
    await send("PUT", `${CONFIG_MAPS}/x`, configMap("b"));
    await send("DELETE", `${CONFIG_MAPS}/x`);
    const [uid, revision] = versions[0]?.split("@") ?? [];
    const at = (later: number) => `resourceVersion ${Number(revision) + later}`;
    expect(
      only(events, "state").map(({ subject, what, from, to, version, causedBy, upstream }) => [
        subject,
        what,
        from,
        to,
        version,
        causedBy,
        upstream?.func,
      ]),
    ).toEqual([
      ["configmaps default/x", "stored", undefined, at(0), versions[0], "00000000000000aa", "Create"],
      ["configmaps default/x", "stored", at(0), at(1), versions[1], "00000000000000aa", "Update"],
      ["configmaps default/x", "deleted", at(1), at(2), `${uid}@${Number(revision) + 2}`, "00000000000000aa", "Delete"],
    ]);
  });

  test("a client that reports nothing gets a fact for its request", async () => {
    await using face = await Face.open();
    const events = collect(face);
    await face.ask(CONFIG_MAPS, { method: "POST", headers: { "user-agent": "kubectl" }, body: configMap("a") });
    const [request] = only(events, "request");
    expect([request?.origin, request?.actor, request?.status]).toEqual(["client", "user", 201]);
    expect(request?.identity).toBe("kubernetes-admin (kubectl)");
    expect(only(events, "state").map(({ causedBy }) => causedBy)).toEqual([request?.id]);
  });

  test("a client with spans of another program gets a fact for its request as well", async () => {
    await using face = await Face.open();
    const events = collect(face);
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await face.ask(CONFIG_MAPS, { method: "POST", headers: { traceparent }, body: configMap("a") });
    const [request] = only(events, "request");
    expect(request?.origin).toBe("client");
    expect(only(events, "state").map(({ causedBy }) => causedBy)).toEqual([request?.id]);
  });

  test("its watch is reported when it begins, once", async () => {
    await using face = await Face.open();
    const events = collect(face);
    const response = await face.open(`${CONFIG_MAPS}?watch=true`);
    expect(only(events, "request").map(({ path, status }) => [path, status])).toEqual([
      [`${CONFIG_MAPS}?watch=true`, 200],
    ]);
    response.destroy();
    await face.close();
    expect(only(events, "request").length).toBe(1);
  });

  test("no fact is made for a trace that keeps no causes", async () => {
    await using face = await Face.open();
    const events: TraceEvent[] = [];
    face.trace.addSink({ level: 2, write: (event) => events.push(event) });
    await face.ask(CONFIG_MAPS, { method: "POST", body: configMap("a") });
    expect(events).toEqual([]);
  });
});

test("the value of a stored Secret is masked in what the server reports of later requests", async () => {
  await using face = await Face.open();
  const events = collect(face);
  const created = "hunter2-created";
  const updated = "hunter2-updated";
  const secret = (password: string) => {
    const data = { password: Buffer.from(password).toString("base64") };
    return { kind: "Secret", apiVersion: "v1", metadata: { name: "db" }, data };
  };
  const path = "/api/v1/namespaces/default/secrets";
  await face.ask(path, { method: "POST", body: secret(created) });
  await face.ask(`${path}/db`, { method: "PUT", body: secret(updated) });
  for (const value of [created, updated, "hunter2-unknown"]) {
    await face.ask(`/api/v1/namespaces/default/configmaps?labelSelector=a%3D${value}`);
  }
  const text = JSON.stringify(events);
  expect(["created", "updated", "unknown"].map((word) => text.includes(`hunter2-${word}`))).toEqual([
    false,
    false,
    true,
  ]);
});

describe("bodies of a client that reports nothing", () => {
  const SECRETS = "/api/v1/namespaces/default/secrets";
  const secret = (value: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s" },
    stringData: { key: value },
  });

  async function bodiesOf(run: (face: Face) => Promise<unknown>) {
    await using face = await Face.open({ trace: new Trace(new FakeClock(), true) });
    const events = collect(face);
    await run(face);
    expect(JSON.stringify(events)).not.toContain("hunter2-hunter2");
    // biome-ignore lint/suspicious/noExplicitAny: bodies of any shape
    return only(events, "request").map(({ requestBody, responseBody }): any => ({ requestBody, responseBody }));
  }

  test("what it sent and got", async () => {
    const [post, table] = await bodiesOf(async (face) => {
      await face.ask("/api/v1/namespaces", { method: "POST", body: { metadata: { name: "n" } } });
      const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
      await face.ask("/api/v1/namespaces/n", { headers: { accept } });
    });
    expect(post.requestBody).toEqual({ metadata: { name: "n" } });
    expect(post.responseBody.metadata.uid).toMatch(/-/);
    expect([table.requestBody, table.responseBody.kind]).toEqual([undefined, "Table"]);
  });

  test("without secrets, however the path is written and whatever the body's format", async () => {
    const yaml = "kind: Secret\napiVersion: v1\nmetadata: {name: yaml}\nstringData: {key: hunter2-hunter2}\n";
    const bodies = await bodiesOf(async (face) => {
      await face.ask(SECRETS, { method: "POST", body: secret("hunter2-hunter2") });
      await face.ask(SECRETS, { method: "POST", body: yaml, headers: { "content-type": "application/yaml" } });
      const patch = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } };
      const data = { key: Buffer.from("hunter2-hunter2").toString("base64") };
      await face.ask(SECRETS.replace("secrets", "%73ecrets/s"), { ...patch, body: { data } });
      await face.ask(`${SECRETS.replace("default/", "default//")}/s`, { ...patch, body: { data } });
      await face.ask(`${SECRETS}/s`);
      await face.ask(`${SECRETS}/s`, { headers: { accept: "application/vnd.kubernetes.protobuf" } });
      await face.ask(SECRETS, { method: "POST", body: "hunter2-hunter2 is not JSON" });
    });
    expect(bodies[0].requestBody.stringData.key).toMatch(/\*\*\*\*/);
    expect(bodies[1].requestBody.metadata.name).toBe("yaml");
    expect(bodies[2].requestBody.data.key).toMatch(/\*\*\*\*/);
    expect(bodies.slice(4, 6).map(({ responseBody }) => responseBody.kind)).toEqual(["Secret", "Secret"]);
    expect(bodies[6].responseBody.kind).toBe("Status");
  });

  test("not those of discovery, of long bodies, and of a client that reports its own", async () => {
    const long = { ...secret(""), kind: "ConfigMap", data: { long: "x".repeat(200_000) } };
    const bodies = await bodiesOf(async (face) => {
      await face.ask("/api/v1");
      await face.ask("/api/v1/namespaces/default/configmaps?dryRun=All", {
        method: "POST",
        body: JSON.stringify(long),
      });
      await face.ask("/api/v1/namespaces", { headers: { traceparent: formatTraceparent("00000000000000aa") } });
    });
    expect(bodies).toEqual([{}, {}]);
  });
});
