import { once } from "node:events";
import { expect, test } from "vitest";
import { untilAborted } from "../../../src/util/async/concurrency.js";
import { parseMetrics, sampleOf } from "../../support/prometheus.js";
import { IDENTITIES, Lab } from "./lab.js";

test("requests are counted while they are answered, and timed after it", async () => {
  await using lab = await Lab.start();
  const client = lab.client(IDENTITIES.admin);
  const logEnds = new AbortController();
  lab.host.log = async function* () {
    yield { stream: "stdout", bytes: Buffer.from("hello\n") };
    await untilAborted(logEnds.signal);
  };
  const labels = { long_running: "false", method: "GET", path: "containerLogs", server_type: "readwrite" };
  const read = async () => {
    const families = parseMetrics((await client.ask("/metrics")).text);
    const names = ["requests_total", "inflight_requests", "requests_duration_seconds_count"];
    return names.map((name) => sampleOf(families, `kubelet_http_${name}`, labels));
  };
  expect(await read()).toEqual([undefined, undefined, undefined]);
  const log = await client.open("/containerLogs/default/web/c?follow=true");
  expect(await read()).toEqual([1, 1, undefined]);
  logEnds.abort();
  await once(log.resume(), "end");
  expect(await read()).toEqual([1, 0, 1]);
});

test("an unknown method and path share a series, whoever asks", async () => {
  await using lab = await Lab.start();
  await lab.client().ask("/no/such/path");
  const answer = await lab.client(IDENTITIES.admin).ask("/metrics");
  expect(answer.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  const labels = { long_running: "false", method: "GET", path: "other", server_type: "readwrite" };
  expect(sampleOf(parseMetrics(answer.text), "kubelet_http_requests_total", labels)).toBe(1);
});

test("the metrics of containers are below those of the kubelet, and need the same right", async () => {
  await using lab = await Lab.start();
  const answer = await lab.client(IDENTITIES.admin).ask("/metrics/cadvisor");
  expect([answer.status, answer.text]).toEqual([200, "# of cAdvisor\n"]);
  expect(answer.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
});
