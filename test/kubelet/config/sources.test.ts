import { watch } from "node:fs";
import { mkdtemp, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runApiserverSource } from "../../../src/kubelet/config/apiserver.js";
import { FileSource } from "../../../src/kubelet/config/file.js";
import { type PathWatcher, watchPath } from "../../../src/kubelet/config/file-watch.js";
import { runHttpSource } from "../../../src/kubelet/config/http.js";
import type { SourceUpdate } from "../../../src/kubelet/config/pod-config.js";
import { currentScope, type Scope } from "../../../src/trace/scope.js";
import { AsyncQueue } from "../../../src/util/async/async-queue.js";
import { SystemClock } from "../../../src/util/clock.js";
import { LabError } from "../../../src/util/errors.js";
import { FakeClock, FakeRandom, settle, untilTrue } from "../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../support/memory-client.js";
import { only, recordingTrace } from "../../support/trace.js";
import { makePod } from "../podworkers/pods.js";

const manifest = (name: string, image = "busybox") =>
  JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { containers: [{ name: "app", image }] } });

/** A channel that records updates: pod names, and the image when it matters. */
function recorded() {
  const updates: string[] = [];
  const channel = async ({ op, pods }: SourceUpdate) => {
    updates.push(
      `${op} ${pods.map(({ metadata, spec }) => `${metadata.name}=${spec.containers?.[0]?.image}`).join(" ")}`.trim(),
    );
  };
  return { channel, updates, take: () => updates.splice(0) };
}

describe("file", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "kubelab-manifests-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  function start(path = folder) {
    const clock = new FakeClock();
    const { trace, events } = recordingTrace(clock);
    const { channel, take } = recorded();
    const { signal } = new AbortController();
    const source = new FileSource({ clock, trace }, { path, nodeName: "n1" }, channel);
    const write = async (name: string, text: string) => {
      await writeFile(join(folder, name), text);
      await source.consumeWatchEvent(join(folder, name), signal);
    };
    const remove = async (name: string) => {
      await rm(join(folder, name));
      await source.consumeWatchEvent(join(folder, name), signal);
    };
    return { source, take, write, remove, list: () => source.listConfig(signal), facts: events };
  }

  test("a manifest of 1 GB and one of 40,000 keys are reported, and the others count", async () => {
    const { list, take, facts } = start();
    await writeFile(join(folder, "a.json"), manifest("a"));
    await writeFile(join(folder, "big.yaml"), "");
    await truncate(join(folder, "big.yaml"), 1024 ** 3);
    await writeFile(join(folder, "keys.yaml"), Array.from({ length: 40_000 }, (_, i) => `k${i}: v`).join("\n"));
    await list();
    expect(take()).toEqual(["SET a-n1=busybox"]);
    const messages = only(facts, "error").map(({ message }) => message.replace(folder, ""));
    expect(messages).toEqual([
      'can\'t process config file "/big.yaml": it has more than 10 MiB',
      expect.stringContaining('can\'t process config file "/keys.yaml": invalid pod: want apiVersion v1, kind Pod'),
    ]);
  });

  test("YAML and JSON are read; files with a dot in front and folders are not", async () => {
    const { list, take, facts } = start();
    await writeFile(join(folder, "b.yaml"), manifest("b"));
    await writeFile(join(folder, "a.json"), manifest("a"));
    await writeFile(join(folder, ".hidden"), manifest("hidden"));
    await list();
    expect(take()).toEqual(["SET a-n1=busybox b-n1=busybox"]);
    expect(only(facts, "error")).toEqual([]);
  });

  test("an empty and a missing folder count as read; a missing one is reported once", async () => {
    const { list, take } = start();
    await list();
    expect(take()).toEqual(["SET"]);
    const missing = start(join(folder, "missing"));
    await missing.list();
    await missing.list();
    expect(missing.take()).toEqual(["SET", "SET"]);
    expect(only(missing.facts, "error")).toHaveLength(1);
  });

  test("run: a missing folder is reported once, and again when its problem changes", async () => {
    const clock = new FakeClock();
    const { trace, events } = recordingTrace(clock);
    const { channel, updates } = recorded();
    let fails = 0;
    const stop = new AbortController();
    const watch: PathWatcher = (path, inner) => {
      fails++;
      return watchPath(path, inner);
    };
    const path = join(folder, "missing");
    const done = new FileSource({ clock, trace, watch }, { path, nodeName: "n1" }, channel).run(stop.signal);
    for (let seconds = 1; seconds <= 3; seconds++) {
      await untilTrue(() => fails === seconds && clock.sleeping === 2);
      await clock.advance(1000);
    }
    const messages = () => only(events, "error").map(({ message }) => message);
    expect(messages()).toEqual([`Unable to read config path ${JSON.stringify(path)}: path does not exist, ignoring`]);
    await untilTrue(() => fails === 4 && clock.sleeping === 2);
    await writeFile(path, "no manifest");
    await clock.advance(1000);
    await untilTrue(() => messages().length === 2);
    expect(messages()[1]).toMatch(/can't process config file/);
    expect(updates.length).toBeGreaterThan(3);
    stop.abort();
    await expect(done).rejects.toThrow();
  });

  test("one file by itself", async () => {
    const { source, take } = start(join(folder, "a.yaml"));
    await writeFile(join(folder, "a.yaml"), manifest("a"));
    await source.listConfig(new AbortController().signal);
    expect(take()).toEqual(["SET a-n1=busybox"]);
  });

  test("a bad file is reported once and skipped; mended, it counts", async () => {
    const { list, take, facts } = start();
    await writeFile(join(folder, "bad.yaml"), '{"kind": "Pod"');
    await writeFile(join(folder, "good.yaml"), manifest("good"));
    await list();
    await list();
    expect(take()).toEqual(["SET good-n1=busybox", "SET good-n1=busybox"]);
    expect(only(facts, "error").map(({ message }) => message)).toEqual([expect.stringContaining("bad.yaml")]);
    await writeFile(join(folder, "bad.yaml"), manifest("bad"));
    await list();
    expect(take()).toEqual(["SET bad-n1=busybox good-n1=busybox"]);
  });

  test("a half written manifest keeps its pod until the next full reading", async () => {
    const { write, list, take } = start();
    await write("a.yaml", manifest("a"));
    await write("a.yaml", manifest("a").slice(0, 40));
    expect(take()).toEqual(["SET a-n1=busybox"]);
    await list();
    expect(take()).toEqual(["SET"]);
    await write("a.yaml", manifest("a", "nginx"));
    expect(take()).toEqual(["SET a-n1=nginx"]);
  });

  test("a removed file ends its pod, and no other", async () => {
    const { write, remove, take } = start();
    await write("a.yaml", manifest("a"));
    await write("b.yaml", manifest("b"));
    take();
    await remove("a.yaml");
    expect(take()).toEqual(["SET b-n1=busybox"]);
  });

  test("two files with one pod name: the one read last counts, and that is reported", async () => {
    const { write, list, take, facts } = start();
    await write("b.yaml", manifest("same", "from-b"));
    await write("a.yaml", manifest("same", "from-a"));
    expect(take().at(-1)).toBe("SET same-n1=from-a");
    await list();
    expect(take()).toEqual(["SET same-n1=from-b"]);
    expect(only(facts, "decision").some(({ why }) => why.includes("same name"))).toBe(true);
  });

  test("run: reads at once, every 20 s, and on watch events; a broken watch is replaced", async () => {
    const clock = new FakeClock();
    const { trace } = recordingTrace(clock);
    const { channel, updates } = recorded();
    const watches: AsyncQueue<string>[] = [];
    const watch: PathWatcher = (_, inner) => {
      const queue = new AsyncQueue<string>();
      watches.push(queue);
      return queue.iterate(inner);
    };
    const stop = new AbortController();
    const done = new FileSource({ clock, trace, watch }, { path: folder, nodeName: "n1" }, channel).run(stop.signal);
    const until = (count: number) => untilTrue(() => updates.length >= count);
    await until(1);
    await writeFile(join(folder, "a.yaml"), manifest("a"));
    watches[0]?.push(join(folder, "a.yaml"));
    await until(2);
    expect(updates).toEqual(["SET", "SET a-n1=busybox"]);
    watches[0]?.fail(new Error("inotify is full"));
    await clock.advance(2000);
    await until(3);
    expect(watches).toHaveLength(2);
    await clock.advance(18_000);
    await until(4);
    stop.abort();
    await expect(done).rejects.toThrow();
    expect(clock.sleeping).toBe(0);
  });

  test("run: a change of a file has the cause that is known of it; without one it was observed", async () => {
    const clock = new FakeClock();
    const { trace, events } = recordingTrace(clock);
    const changes = new AsyncQueue<string>();
    const { channel, updates } = recorded();
    const path = join(folder, "a.yaml");
    const causes = ["write", "removal"];
    const watch: PathWatcher = (_, inner) => changes.iterate(inner);
    const deps = { clock, trace, watch, causeOf: (file: string) => (file === path ? causes.shift() : "another") };
    const stop = new AbortController();
    const done = new FileSource(deps, { path: folder, nodeName: "n1" }, channel).run(stop.signal);
    await untilTrue(() => updates.length === 1);
    for (const count of [2, 4]) {
      await writeFile(path, manifest("a"));
      changes.push(path);
      await untilTrue(() => updates.length === count);
      await rm(path);
      changes.push(path);
      await untilTrue(() => updates.length === count + 1);
    }
    const gone = only(events, "decision").map(({ causedBy, origin }) => [causedBy, origin]);
    expect(gone).toEqual([
      ["removal", undefined],
      [undefined, "observed"],
    ]);
    stop.abort();
    await expect(done).rejects.toThrow();
  });

  test("the file system's own watch tells of files that are made, replaced and removed", async () => {
    const clock = new SystemClock();
    const { trace } = recordingTrace(clock);
    const stop = new AbortController();
    const { channel, updates } = recorded();
    const done = new FileSource({ clock, trace }, { path: folder, nodeName: "n1" }, channel).run(stop.signal);
    // A change that comes before the watch has begun is read 20 s later only: so change until it is seen.
    while (updates.at(-1) !== "SET a-n1=busybox") {
      await writeFile(join(folder, ".new"), manifest("a"));
      await rename(join(folder, ".new"), join(folder, "a.yaml"));
      await settle();
    }
    await rm(join(folder, "a.yaml"));
    await untilTrue(() => updates.at(-1) === "SET");
    stop.abort();
    await expect(done).rejects.toThrow();
  });

  test("a file renamed into place is reported while the reader is busy with the previous one", async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    let isRenamed = () => {};
    const renamed = new Promise<void>((resolve) => {
      isRenamed = resolve;
    });
    const own = watch(folder, (_event, file) => file === "a.json" && isRenamed());
    const reading = (async () => {
      for await (const file of watchPath(folder, stop.signal)) {
        seen.push(basename(file));
        if (basename(file) === "a.json") return;
        // Busy until both watches have been told of the second half.
        if (basename(file) === "sedA1") await renamed.then(() => settle());
      }
    })();
    try {
      // A change that comes before the watch has begun is not told of: so change until one is.
      while (!seen.includes("begun")) {
        await writeFile(join(folder, "begun"), "");
        await settle();
      }
      await writeFile(join(folder, "sedA1"), manifest("a"));
      await untilTrue(() => seen.includes("sedA1"));
      await rename(join(folder, "sedA1"), join(folder, "a.json"));
      await reading;
      expect(seen.at(-1)).toBe("a.json");
    } finally {
      own.close();
      stop.abort();
    }
  });
});

describe("http", () => {
  function start(answers: (string | number | Error | ReadableStream)[]) {
    const clock = new FakeClock();
    const { trace, events } = recordingTrace(clock);
    const { channel, take } = recorded();
    const stop = new AbortController();
    let asked = 0;
    const get = async (_: unknown, init?: RequestInit): Promise<Response> => {
      const answer = answers[Math.min(asked++, answers.length - 1)];
      if (answer === "hang") {
        return new Promise((_resolve, reject) => {
          init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
        });
      }
      if (answer instanceof Error) throw answer;
      return new Response(typeof answer === "number" ? "" : answer, {
        status: typeof answer === "number" ? answer : 200,
      });
    };
    const done = runHttpSource(
      { clock, trace, fetch: get as typeof fetch },
      { url: "http://x/pods", nodeName: "n1" },
      channel,
      stop.signal,
    );
    const end = async () => {
      stop.abort();
      await expect(done).rejects.toThrow();
      expect(clock.sleeping).toBe(0);
    };
    return { clock, take, facts: events, end };
  }

  test("hands on what has changed, every 20 s", async () => {
    const { clock, take, end } = start([manifest("a"), manifest("a"), manifest("b")]);
    await settle();
    expect(take()).toEqual(["SET a-n1=busybox"]);
    await clock.advance(20_000);
    expect(take()).toEqual([]);
    await clock.advance(20_000);
    expect(take()).toEqual(["SET b-n1=busybox"]);
    await end();
  });

  const failures: [string, string | number | Error, string][] = [
    ["the server is gone", new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") }), "ECONNREFUSED"],
    ["the answer is no 200", 503, "http://x/pods: 503"],
    ["the answer is no pod", "hello", "it is not an object"],
  ];
  for (const [what, answer, message] of failures) {
    test(`${what}: is reported, and the pods stay`, async () => {
      const { clock, take, facts, end } = start([manifest("a"), answer]);
      await settle();
      await clock.advance(20_000);
      expect(take()).toEqual(["SET a-n1=busybox"]);
      expect(only(facts, "error")[0]?.message).toContain(message);
      await end();
    });
  }

  test("an endless answer is left at 10 MiB, and the pods stay", async () => {
    let pulled = 0;
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(1024 * 1024));
      },
      cancel() {
        isCancelled = true;
      },
    });
    const { clock, take, facts, end } = start([manifest("a"), endless]);
    await settle();
    await clock.advance(20_000);
    await untilTrue(() => only(facts, "error").length > 0);
    expect(only(facts, "error")[0]?.message).toContain("it has more than 10 MiB");
    expect([pulled <= 13, isCancelled, take()]).toEqual([true, true, ["SET a-n1=busybox"]]);
    await end();
  });

  test("no data at all means no pods", async () => {
    const { clock, take, facts, end } = start([manifest("a"), ""]);
    await settle();
    await clock.advance(20_000);
    expect(take()).toEqual(["SET a-n1=busybox", "SET"]);
    expect(only(facts, "error")[0]?.hint).toContain("the known pods end");
    await end();
  });

  test("no answer within 10 s is a failure like any other, told loudly three times", async () => {
    const { clock, facts, end } = start(["hang"]);
    await clock.advance(150_000);
    const levels = only(facts, "error").map(({ level }) => level);
    expect(levels.slice(0, 5)).toEqual([1, 1, 1, 3, 3]);
    expect(only(facts, "error")[0]?.message).toContain("no answer within 10 s");
    await end();
  });
});

describe("apiserver", () => {
  function start(answer: () => MemoryAnswer | Error, nodeHasSynced?: () => boolean) {
    const clock = new FakeClock();
    const { trace, events } = recordingTrace(clock);
    const client = new MemoryClient(answer);
    const { channel, take } = recorded();
    const stop = new AbortController();
    const options = { nodeName: "n1", ...(nodeHasSynced === undefined ? {} : { nodeHasSynced }) };
    const done = runApiserverSource({ client, clock, random: new FakeRandom(), trace }, options, channel, stop.signal);
    const end = async () => {
      stop.abort();
      await expect(done).rejects.toThrow();
      expect(clock.sleeping).toBe(0);
    };
    return { clock, client, take, facts: events, end };
  }
  const list = (...names: string[]) => ({
    status: 200,
    body: {
      apiVersion: "v1",
      kind: "PodList",
      metadata: { resourceVersion: "1" },
      items: names.map((name) => makePod(name)),
    },
  });

  test("lists and watches the pods of its node, and hands on all of them after each change", async () => {
    const { client, take, end } = start(() => list("a", "b"));
    await settle();
    expect(client.requests[0]).toMatchObject({ path: "/api/v1/pods", query: { fieldSelector: "spec.nodeName=n1" } });
    expect(take()).toEqual(["SET a=busybox b=busybox"]);
    client.watches[0]?.queue.push({ type: "ADDED", object: makePod("c") });
    client.watches[0]?.queue.push({ type: "DELETED", object: makePod("a") });
    await settle();
    expect(take()).toEqual(["SET a=busybox b=busybox c=busybox", "SET b=busybox c=busybox"]);
    await end();
  });

  test("waits until the node is known", async () => {
    let hasSynced = false;
    const { clock, client, end } = start(
      () => list(),
      () => hasSynced,
    );
    await clock.advance(5000);
    expect(client.requests).toEqual([]);
    hasSynced = true;
    await clock.advance(1000);
    expect(client.requests).toHaveLength(1);
    await end();
  });

  test("forbidden or unreachable: known pods stay, and it continues when the server does", async () => {
    for (const failure of [{ status: 403, body: {} }, new LabError("CLUSTER_UNREACHABLE", "connection refused", "")]) {
      let answer: MemoryAnswer | Error = failure;
      const { clock, take, end } = start(() => answer);
      await clock.advance(10_000);
      expect(take()).toEqual([]);
      answer = list("a");
      await clock.advance(60_000);
      expect(take()).toEqual(["SET a=busybox"]);
      await end();
    }
  });

  test("a watch that is too old begins again with a list, and a pod that vanished meanwhile is gone", async () => {
    let names = ["a", "b"];
    const { clock, client, take, end } = start(() => list(...names));
    await settle();
    names = ["b"];
    const gone = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code: 410, reason: "Expired" };
    client.watches[0]?.queue.push({ type: "ERROR", object: gone });
    await clock.advance(2000);
    expect(take()).toEqual(["SET a=busybox b=busybox", "SET b=busybox"]);
    await end();
  });
});

describe("causes", () => {
  test("a pod of the API is handed on because of its watch event, or of the list", async () => {
    const clock = new FakeClock();
    const { trace } = recordingTrace(clock);
    const list = { apiVersion: "v1", kind: "PodList", metadata: { resourceVersion: "1" }, items: [makePod("a")] };
    const client = new MemoryClient(() => ({ status: 200, body: list }));
    const scopes: (Scope | undefined)[] = [];
    const channel = async () => void scopes.push(currentScope());
    const stop = new AbortController();
    const deps = { client, clock, random: new FakeRandom(), trace };
    const done = runApiserverSource(deps, { nodeName: "n1" }, channel, stop.signal);
    await settle();
    client.watches[0]?.queue.push({ type: "ADDED", object: makePod("c"), causedBy: "watch1" });
    await settle();
    expect(scopes[0]?.causedBy).toBe(client.requests[0]?.factId);
    expect(scopes[1]).toEqual({ causedBy: "watch1", pod: "default/c" });
    stop.abort();
    await expect(done).rejects.toThrow();
  });

  test("a file is read at the start, because somebody changed it, and because of the time", async () => {
    const clock = new FakeClock();
    const { trace } = recordingTrace(clock);
    const folder = await mkdtemp(join(tmpdir(), "causes-"));
    const changes = new AsyncQueue<string>();
    const origins: unknown[] = [];
    const source = new FileSource(
      { clock, trace, watch: () => changes },
      { path: folder, nodeName: "n1" },
      async () => void origins.push(currentScope()?.origin),
    );
    const stop = new AbortController();
    const done = trace.origin("start", () => source.run(stop.signal));
    await untilTrue(() => origins.length === 1);
    await writeFile(join(folder, "a.json"), manifest("a"));
    changes.push(join(folder, "a.json"));
    await untilTrue(() => origins.length === 2);
    await clock.advance(20_000);
    await untilTrue(() => origins.length === 3);
    expect(origins).toEqual(["start", "observed", "timer"]);
    stop.abort();
    changes.close();
    await expect(done).rejects.toThrow();
  });
});
