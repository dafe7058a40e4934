import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { test } from "vitest";
import { untilAborted } from "../../../src/util/concurrency.js";
import { expectMetricsFollow } from "../../support/metrics.js";
import { IDENTITIES, Lab } from "./lab.js";

test("every metric of the kubelet follows its subject", async () => {
  await using lab = await Lab.start();
  const client = lab.client(IDENTITIES.admin);
  const logEnds = new AbortController();
  lab.host.log = async function* () {
    yield { stream: "stdout", bytes: Buffer.from("hello\n") };
    await untilAborted(logEnds.signal);
  };
  let log: IncomingMessage;
  await expectMetricsFollow(async () => (await client.ask("/metrics")).text, {
    kubelet_http_inflight_requests: {
      series: '{long_running="false",method="GET",path="containerLogs",server_type="readwrite"}',
      reads: [undefined, 1, 0],
      change: async () => {
        log = await client.open("/containerLogs/default/web/c?follow=true");
      },
      back: async () => {
        logEnds.abort();
        await once(log.resume(), "end");
      },
    },
    kubelet_http_requests_total: {
      series: '{long_running="false",method="GET",path="pods",server_type="readwrite"}',
      reads: [undefined, 1],
      change: () => client.ask("/pods"),
    },
  });
});
