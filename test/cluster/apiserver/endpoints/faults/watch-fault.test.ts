import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ServerFaults } from "../../../../../src/cluster/apiserver/endpoints/faults/server-faults.js";
import { Trace } from "../../../../../src/trace/trace.js";
import { FakeClock } from "../../../../support/fake-clock.js";
import { Face } from "../../server/support.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const WATCH = { resource: "configmaps" };
const ABOUT = `the watch of ${CONFIG_MAPS} by kubernetes-admin`;

let faults: ServerFaults;
let face: Face;
const notes: string[] = [];
beforeAll(async () => {
  faults = new ServerFaults();
  const trace = new Trace(new FakeClock());
  trace.addSink({ level: 1, write: (event) => event.kind === "note" && notes.push(event.text) });
  face = await Face.open({ faults, trace });
});
afterAll(() => face.close());
beforeEach(() => void notes.splice(0));

let names = 0;

async function create(): Promise<{ readonly name: string; readonly version: string }> {
  const name = `c${++names}`;
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
  const answer = await face.ask(CONFIG_MAPS, { method: "POST", body });
  return { name, version: answer.body.metadata.resourceVersion };
}

/** An open watch: what it has received, as `ADDED c1` or an ERROR's code, and whether it has ended. */
async function openWatch(query = "") {
  const { version } = await create();
  const path = `${CONFIG_MAPS}?watch=1&resourceVersion=${version}${query}`;
  const response = await face.open(path, { as: { ...face.admin } });
  const watch = { received: [] as string[], hasEnded: false, version, objects: [] as unknown[] };
  const read = async () => {
    let text = "";
    for await (const chunk of response) {
      text += String(chunk);
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const { type, object } = JSON.parse(line);
        watch.objects.push(object);
        watch.received.push(`${type} ${object.metadata.name ?? object.code}`);
      }
    }
    watch.hasEnded = true;
  };
  void read();
  return watch;
}

test("stall: events and bookmarks wait until it is taken back, and none is lost", async () => {
  const watch = await openWatch("&allowWatchBookmarks=true&timeoutSeconds=600");
  const first = await create();
  await expect.poll(() => watch.received).toEqual([`ADDED ${first.name}`]);
  faults.watches.set(WATCH, { how: "stall" });
  await expect.poll(() => notes).toEqual([`chaos holds back the events of ${ABOUT}`]);
  const [second, third] = [await create(), await create()];
  await face.clock.advance(120_000);
  expect(watch.received).toEqual([`ADDED ${first.name}`]);
  faults.watches.set(WATCH, undefined);
  const all = [first, second, third].map(({ name }) => `ADDED ${name}`);
  await expect.poll(() => watch.received.slice(0, 3)).toEqual(all);
  expect(watch.received.slice(3).every((one) => one.startsWith("BOOKMARK"))).toBe(true);
  await face.clock.advance(600_000);
  await expect.poll(() => watch.hasEnded).toBe(true);
});

test("stall: the watch still ends at its timeout", async () => {
  const watch = await openWatch("&timeoutSeconds=30");
  faults.watches.set(WATCH, { how: "stall" });
  await expect.poll(() => notes.length).toBe(1);
  await create();
  await face.clock.advance(31_000);
  await expect.poll(() => watch.hasEnded).toBe(true);
  faults.watches.set(WATCH, undefined);
  expect(watch.received).toEqual([]);
});

test("end: an open watch and a later one end, a third one does not", async () => {
  const open = await openWatch();
  faults.watches.set(WATCH, { how: "end", count: 2 });
  await expect.poll(() => open.hasEnded).toBe(true);
  const later = await openWatch();
  await expect.poll(() => later.hasEnded).toBe(true);
  const third = await openWatch("&timeoutSeconds=600");
  const { name } = await create();
  await expect.poll(() => third.received).toEqual([`ADDED ${name}`]);
  expect(notes).toEqual([`chaos ends ${ABOUT}`, `chaos ends ${ABOUT}`]);
  await face.clock.advance(600_000);
});

test("repeat: an event comes twice", async () => {
  const watch = await openWatch("&timeoutSeconds=600");
  faults.watches.set(WATCH, { how: "repeat", count: 1 });
  const [first, second] = [await create(), await create()];
  const all = [first, first, second].map(({ name }) => `ADDED ${name}`);
  await expect.poll(() => watch.received).toEqual(all);
  expect(notes).toEqual([`chaos repeats an event of ${ABOUT}`]);
  await face.clock.advance(600_000);
});

test("expire: an ERROR event with upstream's Status, then the end", async () => {
  const watch = await openWatch();
  faults.watches.set(WATCH, { how: "expire", count: 1 });
  await expect.poll(() => watch.hasEnded).toBe(true);
  expect(watch.received).toEqual(["ERROR 410"]);
  expect(watch.objects).toEqual([
    {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: `too old resource version: ${watch.version} (${Number(watch.version) + 1})`,
      reason: "Expired",
      code: 410,
    },
  ]);
  expect(notes).toEqual([`chaos answers 410 in ${ABOUT}`]);
});

test("watches of other resources, and of other users, go on", async () => {
  const watch = await openWatch("&timeoutSeconds=600");
  faults.watches.set({ resource: "pods" }, { how: "end" });
  faults.watches.set({ ...WATCH, user: "system:node:n" }, { how: "stall" });
  const { name } = await create();
  await expect.poll(() => watch.received).toEqual([`ADDED ${name}`]);
  expect(notes).toEqual([]);
  faults.watches.set({ resource: "pods" }, undefined);
  faults.watches.set({ ...WATCH, user: "system:node:n" }, undefined);
  await face.clock.advance(600_000);
});
