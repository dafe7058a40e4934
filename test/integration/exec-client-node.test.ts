import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { Attach, Cp, Exec, KubeConfig, Log, PortForward, type V1Status } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, test } from "vitest";
import { clusterKubeconfig } from "../../src/testbed/target/cluster-state.js";
import { StreamCluster } from "../support/stream-cluster.js";

for (const release of ["1.25", "1.32"])
  describe(`@kubernetes/client-node on a cluster of release ${release}`, () => suite(release));

function suite(release: string): void {
  let cluster: StreamCluster;
  let config: KubeConfig;
  beforeAll(async () => {
    cluster = await StreamCluster.start(release);
    config = new KubeConfig();
    config.loadFromString(readFileSync(clusterKubeconfig(cluster.env, "kubelab"), "utf8"));
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  for (const [command, input, stdout, stderr, exit] of [
    [["sh", "-c", "read line; echo got $line; echo err >&2; exit 3"], "word\n", "got word\n", "err\n", "3"],
    [["true"], undefined, "", "", undefined],
  ] as const) {
    test(`Exec of ${command[0]}`, async () => {
      const out = collecting();
      const err = collecting();
      const stdin = input === undefined ? null : new PassThrough();
      const status = await new Promise<V1Status>((resolve, reject) => {
        new Exec(config)
          .exec("default", "nettool", "nettool", [...command], out.stream, err.stream, stdin, false, resolve)
          .then(() => stdin?.write(input), reject);
      });
      assert.equal(status.details?.causes?.[0]?.message, exit);
      assert.equal(out.text(), stdout);
      assert.equal(err.text(), stderr);
    });
  }

  test("Attach: the container's output from now on", async () => {
    const out = collecting();
    const ws = await new Attach(config).attach("default", "nginx", "nginx", out.stream, null, null, false);
    ws.close();
    assert.equal(out.text(), "");
  });

  test("Log", async () => {
    const out = collecting();
    const ended = once(out.stream, "finish");
    await new Log(config).log("default", "nginx", "nginx", out.stream, { tailLines: 1 });
    await ended;
    assert.match(out.text(), /start worker process \d+/);
  });

  // Cp.cpFromPod passes tar's gzip to an unpacker of plain archives, so it works with no cluster.
  test("Cp: a folder arrives in the pod", async () => {
    const folder = mkdtempSync(join(tmpdir(), "kubelab-cp-"));
    writeFileSync(join(folder, "a.txt"), "copied");
    await new Cp(config).cpToPod("default", "nettool", "nettool", folder, "/tmp");
    const read = async () => {
      const out = collecting();
      const command = ["cat", "/tmp/a.txt"];
      await new Promise<V1Status>((resolve, reject) => {
        new Exec(config)
          .exec("default", "nettool", "nettool", command, out.stream, null, null, false, resolve)
          .catch(reject);
      });
      return out.text();
    };
    // The client does not wait for tar's end.
    let text = "";
    while (text !== "copied") text = await read();
  });

  test("PortForward: the client's connection ends when the pod closes it", async () => {
    const page = new PassThrough();
    const request = new PassThrough();
    const ws = await new PortForward(config).portForward("default", "nginx", [80], page, null, request);
    const ended = new Promise<void>((resolve) => {
      if (typeof ws === "function") throw new Error("one connection was asked for");
      ws.onclose = () => resolve();
    });
    request.write("GET / HTTP/1.0\r\n\r\n");
    page.resume();
    await ended;
  });

  test("PortForward: nginx answers", async () => {
    const server = createServer((socket) => {
      void new PortForward(config).portForward("default", "nginx", [80], socket, null, socket);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const page = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } });
    assert.match(await page.text(), /Welcome to nginx!/);
    server.close();
  });
}

function collecting(): { readonly stream: PassThrough; text(): string } {
  const stream = new PassThrough();
  let text = "";
  stream.on("data", (piece) => {
    text += String(piece);
  });
  return { stream, text: () => text };
}
