import { afterEach, describe, expect, test } from "vitest";
import { RemotePodReader } from "../../../src/kubelet/kuberuntime/remote-pod-reader.js";
import { createCriClient } from "../../../src/staging/cri/remote/create-cri-client.js";
import { Pleg } from "../../../src/testbed/pleg/pleg.js";
import { startLabRuntime } from "../../../src/testbed/runtime/embedded-lab.js";
import type { LabRuntime } from "../../../src/testbed/runtime/lab-runtime.js";
import { SystemClock } from "../../../src/util/clock.js";
import { only, recordingTrace } from "../../support/trace.js";

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close();
});

/** The lab's runtime over its socket, and a PLEG that relists when told to. */
async function setUp() {
  const clock = new SystemClock();
  const { trace, events: facts } = recordingTrace(clock);
  const lab = await startLabRuntime({ clock, trace });
  closing.push(lab);
  const signal = new AbortController().signal;
  const client = await createCriClient(lab.endpoint, { clock, trace, actor: "kubelet" }, {}, signal);
  closing.push(client);
  const service = new RemotePodReader(client.runtime);
  const pleg = new Pleg({ service, clock, trace }, { kubeVersion: "1.25", evented: false });
  const relist = async () => {
    const error = await pleg.generic.relist(signal);
    if (error !== undefined) return [String(error)];
    return pleg.events
      .takeAll()
      .map(({ type, containerId }) => `${type} ${containerId.slice(0, 13)}`)
      .sort();
  };
  return { lab, pleg, relist, facts };
}

const MYPOD = ["b142f836dcb9c", "926f1b5a1d33a"] as const;
const MYNGX = ["a152f936dc", "k152f936dcb", "726f1b3a1d32a"] as const;

test("the lab begins with its two pods, under the IDs that they have always had", async () => {
  const { relist, pleg } = await setUp();
  expect(await relist()).toEqual([...MYPOD, ...MYNGX].map((id) => `ContainerStarted ${id}`).sort());
  expect([...pleg.generic.listedPods()].map(({ podUid }) => podUid).sort()).toEqual([
    "1f14133d-r2af-482d-b524-e6gc98093321",
    "ef14133d-c5af-482d-a514-e6fc98093553",
  ]);
  expect(await relist()).toEqual([]);
});

describe("what is done behind the kubelet's back is found by the next relist", () => {
  const table: readonly [action: string, target: string, want: string[], code?: number, reason?: string][] = [
    ["exit", "mypod-container", ["ContainerDied b142f836dcb9c"], 0, "Completed"],
    ["fail", "b142", ["ContainerDied b142f836dcb9c"], 1, "Error"],
    ["kill", "b142f836dcb9c3bb", ["ContainerDied b142f836dcb9c"], 137, "Error"],
    ["oom", "mypod", ["ContainerDied b142f836dcb9c"], 137, "OOMKilled"],
    ["remove", "mypod-container", ["ContainerDied b142f836dcb9c", "ContainerRemoved b142f836dcb9c"]],
    ["not-ready", "default/mypod", ["ContainerDied 926f1b5a1d33a"]],
    ["remove-sandbox", "mypod", MYPOD.flatMap((id) => [`ContainerDied ${id}`, `ContainerRemoved ${id}`]).sort()],
  ];
  for (const [action, target, want, code, reason] of table) {
    test(`${action} ${target}`, async () => {
      const { lab, relist, pleg } = await setUp();
      await relist();
      expect(await lab.act(action, target)).toContain("mypod");
      expect(await relist()).toEqual(expect.arrayContaining(want));
      if (code === undefined) return;
      const [status] = pleg.cache.get("ef14133d-c5af-482d-a514-e6fc98093553").status?.containerStatuses ?? [];
      expect([status?.state, status?.exitCode, status?.reason]).toEqual(["exited", code, reason]);
    });
  }

  test("start makes a new container beside the dead one", async () => {
    const { lab, relist } = await setUp();
    await relist();
    await lab.act("kill", "mypod-container");
    await relist();
    await lab.act("start", "mypod-container");
    const [started, ...others] = await relist();
    expect([started?.split(" ")[0], others]).toEqual(["ContainerStarted", []]);
    expect(started).not.toContain("b142f836dcb9c");
  });

  test("bring-back gives a lost pod a new sandbox, and leaves the others alone", async () => {
    const { lab, relist } = await setUp();
    await lab.act("remove-sandbox", "mypod");
    await relist();
    expect(await lab.act("bring-back", undefined)).toContain("mypod");
    expect((await relist()).map((event) => event.split(" ")[0])).toEqual(["ContainerStarted", "ContainerStarted"]);
    expect(await lab.act("bring-back", undefined)).toBe("no pod is missing");
  });
});

test("bring-back gives a pod another sandbox while the one that is not ready is still there, again and again", async () => {
  const { lab, relist } = await setUp();
  await relist();
  for (let round = 0; round < 2; round++) {
    await lab.act("not-ready", "mypod");
    await relist();
    expect(await lab.act("bring-back", undefined)).toContain("mypod");
    expect((await relist()).map((event) => event.split(" ")[0])).toEqual(["ContainerStarted", "ContainerStarted"]);
  }
});

describe("faults", () => {
  test("inspections fail and events wait; then they come", async () => {
    const { lab, relist, facts } = await setUp();
    await relist();
    await lab.act("fail-inspections", undefined);
    expect(lab.faults()).toEqual(["inspections fail"]);
    await lab.act("kill", "mypod-container");
    expect(await relist()).toEqual([]);
    expect(only(facts, "error").at(-1)?.message).toContain("shim is not answering");
    await lab.act("fail-inspections", undefined);
    expect(await relist()).toEqual(["ContainerDied b142f836dcb9c"]);
    expect(lab.faults()).toEqual([]);
  });

  test("lists hang until they are let go, and nothing is lost", async () => {
    const { lab, relist } = await setUp();
    await relist();
    await lab.act("hang", undefined);
    const hanging = relist();
    await lab.act("kill", "mypod-container");
    await lab.act("hang", undefined);
    expect(await hanging).toEqual(["ContainerDied b142f836dcb9c"]);
  });

  test("of lists that hang and lists that take long, the later takes the other's place", async () => {
    const { lab, relist } = await setUp();
    await lab.act("hang", undefined);
    await lab.act("drop-events", undefined);
    await lab.act("slow", undefined);
    expect(lab.faults()).toEqual(["the runtime's events get lost", "lists take 3 s"]);
    expect(await lab.act("slow", undefined)).toContain("take no time again");
    expect(await relist()).toHaveLength(5);
  });
});

describe("an action that cannot be done is refused in words", () => {
  const refused = (lab: LabRuntime, action: string, target?: string, words = "") =>
    expect(lab.act(action, target)).rejects.toMatchObject({ code: "USAGE", message: expect.stringContaining(words) });
  test("no such action, no target, a target of another kind", async () => {
    const { lab } = await setUp();
    await refused(lab, "explode");
    await refused(lab, "kil", "mypod", "did you mean kill?");
    await refused(lab, "kill", undefined, "A target is missing");
    await refused(lab, "bring-back", "mypod", "done to the whole runtime");
    await refused(lab, "kill", "");
    await refused(lab, "kill", "926f1b5a1d33a");
    await refused(lab, "not-ready", "mypod-container");
  });
  test("a container that does not run any more", async () => {
    const { lab } = await setUp();
    await lab.act("kill", "mypod-container");
    await refused(lab, "kill", "mypod-container");
  });
});
