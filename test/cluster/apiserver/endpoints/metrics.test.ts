import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { expectMetricsFollow, type MetricRow, readMetric } from "../../../support/metrics.js";
import { Face } from "../server/support.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

let face: Face;
beforeAll(async () => {
  face = await Face.open();
});
afterAll(() => face.close());

const read = async () => (await face.ask("/metrics")).text;

function create(name: string) {
  return () =>
    face.ask(CONFIG_MAPS, { method: "POST", body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name } } });
}

/** Opens a watch; it ends with its time. */
function watchRow(reads: readonly number[]): MetricRow {
  let response: IncomingMessage;
  return {
    series: "",
    reads,
    change: async () => {
      response = await face.open(`${CONFIG_MAPS}?watch=1&timeoutSeconds=5`, { as: { ...face.admin } });
    },
    back: async () => {
      await Promise.all([once(response.resume(), "end"), face.clock.advance(5_000)]);
    },
  };
}

/** The numbers of the process, before and after it allocates: more than 32 MB, so that malloc asks the kernel for new pages. */
function memoryRow(change: () => unknown): MetricRow {
  return { series: "", reads: "differs", change };
}

test("every metric of the API server follows its subject", async () => {
  const kept: unknown[] = [];
  await expectMetricsFollow(read, {
    // The request that reads is one of them.
    apiserver_current_inflight_requests: watchRow([1, 2, 1]),
    apiserver_longrunning_requests: { ...watchRow([0, 1, 0]), series: '{verb="WATCH"}' },
    apiserver_request_total: {
      series: '{code="201",resource="configmaps",verb="CREATE"}',
      reads: [undefined, 1],
      change: create("one"),
    },
    apiserver_storage_objects: {
      series: '{resource="configmaps"}',
      reads: [2, 3, 2],
      change: create("two"),
      back: () => face.ask(`${CONFIG_MAPS}/two`, { method: "DELETE" }),
    },
    process_resident_memory_bytes: memoryRow(() => kept.push(Buffer.alloc(64 * 1024 * 1024, 1))),
    nodejs_heap_used_bytes: memoryRow(() => kept.push(Array.from({ length: 100_000 }, (_, i) => ({ i })))),
  });
});

test("a watch over WebSocket is counted as a watch, and has no HTTP status", async () => {
  const open = () => readMetric(read, 'apiserver_longrunning_requests{verb="WATCH"}');
  const { cert, key } = face.admin;
  const url = `${face.controlPlane.url.replace("https", "wss")}${CONFIG_MAPS}?watch=1`;
  const options = {
    ca: face.controlPlane.caPem,
    origin: "https://localhost",
    ...(cert && { cert }),
    ...(key && { key }),
  };
  const socket = new WebSocket(url, options);
  await once(socket, "open");
  expect(await open()).toBe(1);
  socket.terminate();
  while ((await open()) !== 0);
  const total = await readMetric(read, 'apiserver_request_total{code="0",resource="configmaps",verb="WATCH"}');
  expect(total).toBe(1);
});
