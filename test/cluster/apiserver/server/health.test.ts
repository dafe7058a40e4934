import { expect, test } from "vitest";
import { type HealthSubjects, healthChecks } from "../../../../src/cluster/apiserver/server/health.js";
import { runCheck } from "../../../../src/staging/server/healthz.js";
import { startAuth } from "../auth/fixtures.js";
import { Face } from "./support.js";

const WORKING: HealthSubjects = {
  storage: { health: { checks: [{ name: "storage", check: async () => {} }], components: [] } },
  views: [{ resource: "pods", isFollowing: true }],
  closing: new AbortController().signal,
};

/** Each check with a subject that fails. `ping` only proves that the server answers. */
const BROKEN: Readonly<Record<string, [Partial<HealthSubjects>, string]>> = {
  storage: [{ storage: brokenStorage() }, "the disk is gone"],
  "informer-sync": [
    { views: [...WORKING.views, { resource: "roles", isFollowing: false }] },
    "1 informers not started yet: [roles]",
  ],
  shutdown: [{ closing: AbortSignal.abort(new Error("the server closes")) }, "the server closes"],
};

function brokenStorage(): HealthSubjects["storage"] {
  const check = () => Promise.reject(new Error("the disk is gone"));
  return { health: { checks: [{ name: "storage", check }], components: [] } };
}

test("every check except ping fails when its subject fails, and passes otherwise", async () => {
  const checks = healthChecks(WORKING);
  expect(checks.map(({ name }) => name)).toEqual(["ping", ...Object.keys(BROKEN)]);
  for (const check of checks) expect(await runCheck(check)).toEqual({ isHealthy: true, text: "ok" });
  for (const [name, [subjects, why]] of Object.entries(BROKEN)) {
    const check = healthChecks({ ...WORKING, ...subjects }).find((one) => one.name === name);
    expect(check && (await runCheck(check)), name).toEqual({
      isHealthy: false,
      text: `internal server error: ${why}\n`,
    });
  }
});

test("informer-sync fails while the view of an authorizer waits to list again", async () => {
  const { auth, registry, clock } = await startAuth();
  const check = () => healthChecks({ ...WORKING, views: auth.views })[2];
  const text = async () => (await runCheck(check() ?? { name: "" })).text;
  expect(await text()).toBe("ok");
  registry.store("pods").breakWatches();
  await clock.advance(0);
  expect(await text()).toBe("internal server error: 1 informers not started yet: [pods]\n");
  await clock.advance(1_000);
  expect(await text()).toBe("ok");
  await auth.close();
});

test("ComponentStatuses report that no controllers run, and the embedded storage in place of etcd", async () => {
  await using face = await Face.open();
  const { items } = (await face.ask("/api/v1/componentstatuses")).body;
  const told = items.map((one: { metadata: { name: string }; conditions: { status: string; message: string }[] }) => {
    return `${one.metadata.name}: ${one.conditions[0]?.status} ${one.conditions[0]?.message}`;
  });
  expect(told).toEqual(["controller-manager: False not running", "scheduler: False not running", "storage: True ok"]);
  expect((await face.ask("/api/v1/componentstatuses/etcd-0")).status).toBe(404);
});
