/**
 * Eight clients write at random over HTTPS, four watchers look on. Whatever the clients were told holds: each write that was
 * acknowledged is in the history at its revision and nothing that was refused is; no watcher sees a gap, a disorder or
 * something twice, also one that breaks off and resumes all the time; and all end equal to a model that knows nothing but
 * the acknowledged writes. KUBELAB_PROPERTY_RUNS raises the number of runs.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HttpsClient } from "../../support/https-client.js";
import { SpawnedServer } from "../../support/spawned-server.js";

const RUNS = Number(process.env["KUBELAB_PROPERTY_RUNS"] ?? 12);
const CLIENTS = 8;
const TIMEOUT_MS = 30_000 + RUNS * 2_000;

/** How a step changes an object's data. */
type Change = "put" | "merge" | "strategic" | "json";
type Step =
  | { readonly type: "create"; readonly name: string; readonly space: string; readonly tier: string }
  | {
      readonly type: Change;
      readonly name: string;
      readonly space: string;
      readonly key: string;
      readonly isOptimistic: boolean;
    }
  | { readonly type: "delete"; readonly name: string; readonly space: string; readonly isOptimistic: boolean }
  | { readonly type: "deletecollection"; readonly space: string; readonly tier: string };

const name = fc.constantFrom("a", "b", "c", "d");
const space = fc.constantFrom("one", "two");
const tier = fc.constantFrom("x", "y");
/** Also keys that objects of JavaScript have already. */
const key = fc.constantFrom("k", "constructor", "__proto__", "toString");
const change = fc.record({
  type: fc.constantFrom<Change>("put", "merge", "strategic", "json"),
  name,
  space,
  key,
  isOptimistic: fc.boolean(),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("create" as const), name, space, tier }) },
  { weight: 8, arbitrary: change },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("delete" as const), name, space, isOptimistic: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("deletecollection" as const), space, tier }) },
);

type Data = ReadonlyMap<string, string>;
interface Item {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly data?: Readonly<Record<string, string>>;
}
interface WatchEvent {
  readonly type: string;
  readonly object: Item;
}

/** A write that went through, as its client knows it. */
interface Acknowledged {
  readonly revision: number;
  readonly uid: string;
  /** the only revision of the object that it may follow; undefined: any */
  readonly onlyAfter: number | undefined;
  /** what it makes of the existing data */
  readonly apply: (before: Data) => Data;
}

/** The answers that the clients of one run got. */
class Told {
  readonly writes: Acknowledged[] = [];
  /** uid -> the only revision of the object that was to be deleted; undefined: any */
  readonly deleted = new Map<string, number | undefined>();
  /** marks of writes that were refused */
  readonly refused: string[] = [];
}

const dataOf = ({ data = {} }: Item): Data => new Map(Object.entries(data));
const revisionOf = ({ metadata }: Item): number => Number(metadata.resourceVersion);
const keyOf = ({ metadata }: Item): string => `${metadata.namespace}/${metadata.name}`;

/** JSON with one key that may be called anything. */
function withKey(object: string, dataKey: string, value: string): string {
  return object.replace('"KEY":0', `${JSON.stringify(dataKey)}:${JSON.stringify(value)}`);
}

class Writer {
  constructor(
    readonly client: HttpsClient,
    readonly run: string,
    readonly told: Told,
  ) {}

  #path(where: string, object = ""): string {
    return `/api/v1/namespaces/${this.run}-${where}/configmaps${object === "" ? "" : `/${object}`}`;
  }

  /** @param mark names this write in the data */
  async play(one: Step, mark: string): Promise<void> {
    switch (one.type) {
      case "create":
        return this.#create(one, mark);
      case "delete":
        return this.#delete(one);
      case "deletecollection":
        return this.#deleteCollection(one);
      default:
        return this.#change(one, mark);
    }
  }

  async #create(one: Step & { readonly type: "create" }, mark: string): Promise<void> {
    const labels = { run: this.run, tier: one.tier };
    const body = { metadata: { name: one.name, labels }, data: { made: mark } };
    const { status, body: object } = await this.client.ask(this.#path(one.space), { method: "POST", body });
    expect([201, 409]).toContain(status);
    if (status === 201) this.#acknowledge(object, undefined, () => new Map([["made", mark]]));
    else this.told.refused.push(mark);
  }

  async #change(one: Step & { readonly type: Change }, mark: string): Promise<void> {
    const path = this.#path(one.space, one.name);
    const read = one.type === "put" || one.isOptimistic ? (await this.client.ask(path)).body : undefined;
    const resourceVersion: string | undefined = one.isOptimistic ? read?.metadata?.resourceVersion : undefined;
    if (read?.kind === "Status") return;
    const { method, type, text } = this.#request(one, mark, read, resourceVersion);
    const answer = await this.client.ask(path, { method, body: text, headers: { "content-type": type } });
    expect([200, 404, 409, 422]).toContain(answer.status);
    if (answer.status !== 200) this.told.refused.push(mark);
    else {
      const base = one.type === "put" ? () => dataOf(read) : (before: Data) => before;
      const onlyAfter = resourceVersion === undefined ? undefined : Number(resourceVersion);
      this.#acknowledge(answer.body, onlyAfter, (before) => new Map([...base(before), [one.key, mark]]));
    }
  }

  #request(one: Step & { readonly type: Change }, mark: string, read: Item | undefined, resourceVersion?: string) {
    const metadata = resourceVersion === undefined ? {} : { metadata: { resourceVersion } };
    switch (one.type) {
      case "put": {
        const data = JSON.stringify(Object.fromEntries([...dataOf(read as Item), [one.key, mark]]));
        const whole = {
          ...read,
          metadata: { ...read?.metadata, ...(resourceVersion === undefined ? { resourceVersion: "" } : {}) },
        };
        return {
          method: "PUT",
          type: "application/json",
          text: JSON.stringify({ ...whole, data: 0 }).replace('"data":0', `"data":${data}`),
        };
      }
      case "json": {
        const tests =
          resourceVersion === undefined
            ? []
            : [{ op: "test", path: "/metadata/resourceVersion", value: resourceVersion }];
        const text = JSON.stringify([...tests, { op: "add", path: `/data/${one.key}`, value: mark }]);
        return { method: "PATCH", type: "application/json-patch+json", text };
      }
      default: {
        const text = withKey(JSON.stringify({ ...metadata, data: { KEY: 0 } }), one.key, mark);
        const type = `application/${one.type === "merge" ? "merge" : "strategic-merge"}-patch+json`;
        return { method: "PATCH", type, text };
      }
    }
  }

  async #delete(one: Step & { readonly type: "delete" }): Promise<void> {
    const path = this.#path(one.space, one.name);
    const read = one.isOptimistic ? (await this.client.ask(path)).body : undefined;
    if (read?.kind === "Status") return;
    const preconditions = { resourceVersion: read?.metadata.resourceVersion };
    const body = read === undefined ? undefined : { kind: "DeleteOptions", apiVersion: "v1", preconditions };
    const answer = await this.client.ask(path, { method: "DELETE", body });
    expect([200, 404, 409]).toContain(answer.status);
    if (answer.status !== 200) return;
    this.told.deleted.set(answer.body.details.uid, read === undefined ? undefined : revisionOf(read));
  }

  async #deleteCollection(one: Step & { readonly type: "deletecollection" }): Promise<void> {
    const path = `${this.#path(one.space)}?labelSelector=tier%3D${one.tier}`;
    const answer = await this.client.ask(path, { method: "DELETE" });
    expect(answer.status).toBe(200);
    for (const { metadata } of answer.body.items as Item[]) this.told.deleted.set(metadata.uid, undefined);
  }

  #acknowledge(object: Item, onlyAfter: number | undefined, apply: Acknowledged["apply"]): void {
    this.told.writes.push({ revision: revisionOf(object), uid: object.metadata.uid, onlyAfter, apply });
  }
}

const END = "the-end";

/** Watches from a revision until the object that ends the run, breaking off after every `breakEvery` events. */
async function follow(client: HttpsClient, path: string, from: number, breakEvery: number): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  let revision = from;
  for (;;) {
    const response = await client.open(`${path}${path.includes("?") ? "&" : "?"}watch=1&resourceVersion=${revision}`);
    expect(response.statusCode).toBe(200);
    let left = breakEvery;
    let rest = "";
    reading: for await (const chunk of response) {
      const lines = `${rest}${chunk}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const event = JSON.parse(line) as WatchEvent;
        expect(revisionOf(event.object)).toBeGreaterThan(revision);
        revision = revisionOf(event.object);
        if (event.object.metadata.name === END) return events;
        events.push(event);
        if (--left === 0) break reading;
      }
    }
    response.destroy();
  }
}

/** Checks that the history has exactly the writes that the clients saw. @returns what exists in the end */
function replay(events: readonly WatchEvent[], told: Told): Map<string, Data> {
  const byRevision = new Map(told.writes.map((write) => [write.revision, write]));
  // Each write was answered with a revision of its own.
  expect(byRevision.size).toBe(told.writes.length);
  const model = new Map<string, Data>();
  const newest = new Map<string, number>();
  const deleted = new Set<string>();
  for (const { type, object } of events) {
    const what = keyOf(object);
    expect([type, what, model.has(what)]).toEqual([type, what, type !== "ADDED"]);
    const previous = newest.get(what);
    newest.set(what, revisionOf(object));
    if (type === "DELETED") {
      expect(dataOf(object)).toEqual(model.get(what));
      expect([previous, undefined]).toContain(told.deleted.get(object.metadata.uid));
      model.delete(what);
      deleted.add(object.metadata.uid);
      continue;
    }
    const write = byRevision.get(revisionOf(object));
    expect(write?.uid).toBe(object.metadata.uid);
    expect([previous, undefined]).toContain(write?.onlyAfter);
    const data = write?.apply(model.get(what) ?? new Map()) ?? new Map();
    expect(dataOf(object)).toEqual(data);
    model.set(what, data);
    byRevision.delete(revisionOf(object));
  }
  // Every acknowledged write and every deletion was seen once.
  expect([...byRevision.keys()]).toEqual([]);
  expect(deleted).toEqual(new Set(told.deleted.keys()));
  const marks = new Set(events.flatMap(({ object }) => [...dataOf(object).values()]));
  expect(told.refused.filter((mark) => marks.has(mark))).toEqual([]);
  return model;
}

let server: SpawnedServer;
let admin: HttpsClient;
let clients: HttpsClient[];
let watchers: HttpsClient[];
let runCount = 0;

beforeAll(async () => {
  server = await SpawnedServer.start();
  admin = new HttpsClient(server.access);
  clients = Array.from({ length: CLIENTS }, () => new HttpsClient(server.access));
  watchers = Array.from({ length: 4 }, () => new HttpsClient(server.access, 2));
});

afterAll(async () => {
  for (const client of [admin, ...clients, ...watchers]) client.close();
  const { unhandled, bugs } = await server.usage();
  expect({ unhandled, bugs, code: await server.close() }).toEqual({ unhandled: [], bugs: [], code: 0 });
});

async function makeSpaces(run: string): Promise<number> {
  for (const where of ["one", "two"]) {
    await admin.ask("/api/v1/namespaces", { method: "POST", body: { metadata: { name: `${run}-${where}` } } });
  }
  return Number((await admin.ask("/api/v1/configmaps")).body.metadata.resourceVersion);
}

async function runOnce(plans: readonly (readonly Step[])[], breakEvery: number): Promise<void> {
  const run = `run-${runCount++}`;
  const from = await makeSpaces(run);
  const all = `/api/v1/configmaps?labelSelector=run%3D${run}`;
  const ofTier = `/api/v1/namespaces/${run}-one/configmaps?labelSelector=tier%3Dx`;
  const paths: readonly (readonly [path: string, breakEvery: number])[] = [
    [all, Number.POSITIVE_INFINITY],
    [all, breakEvery],
    [ofTier, Number.POSITIVE_INFINITY],
    [ofTier, breakEvery],
  ];
  const following = paths.map(([path, every], i) => follow(watchers[i] as HttpsClient, path, from, every));
  const told = new Told();
  await Promise.all(
    plans.map(async (steps, i) => {
      const writer = new Writer(clients[i] as HttpsClient, run, told);
      for (const [index, one] of steps.entries()) await writer.play(one, `${i}.${index}`);
    }),
  );
  const { items } = (await admin.ask(all)).body as { readonly items: readonly Item[] };
  const end = { metadata: { name: END, labels: { run, tier: "x" } } };
  await admin.ask(`/api/v1/namespaces/${run}-one/configmaps`, { method: "POST", body: end });
  const [seen = [], resumed, seenOfTier = [], resumedOfTier] = await Promise.all(following);
  expect(resumed).toEqual(seen);
  expect(resumedOfTier).toEqual(seenOfTier);
  const model = replay(seen, told);
  expect(new Map(items.map((item) => [keyOf(item), dataOf(item)]))).toEqual(model);
  // Who watches a part of it sees that part. No label ever changes: nothing enters or leaves but by coming and going.
  const uids = new Set(seenOfTier.map(({ object }) => object.metadata.uid));
  expect(seenOfTier).toEqual(seen.filter(({ object }) => uids.has(object.metadata.uid)));
}

test(
  `${CLIENTS} clients at once lose no acknowledged write, and watchers miss nothing`,
  async () => {
    const plans = fc.array(fc.array(step, { minLength: 4, maxLength: 16 }), { minLength: CLIENTS, maxLength: CLIENTS });
    const property = fc.asyncProperty(plans, fc.integer({ min: 1, max: 6 }), runOnce);
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
  },
  TIMEOUT_MS,
);
