import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { EtcdClient } from "../../../../../src/cluster/apiserver/storage/etcd/client.js";
import type { EtcdEndpoint } from "../../../../../src/cluster/apiserver/storage/etcd/endpoints.js";
import { RANGE } from "../../../../../src/cluster/apiserver/storage/etcd/rpcs.js";

type Listener = { onReceiveStatus(status: { readonly code: number; readonly details: string }): void };

/** A server that is dead. */
function deadEndpoint(url: string, onCall: (url: string) => void): EtcdEndpoint {
  const call = {
    start(_metadata: unknown, { onReceiveStatus }: Listener) {
      onCall(url);
      setImmediate(() => onReceiveStatus({ code: status.UNAVAILABLE, details: "No connection established" }));
    },
    sendMessageWithContext() {},
    startRead() {},
    halfClose() {},
    cancelWithStatus() {},
  };
  const client = { getChannel: () => ({ createCall: () => call }), close() {} };
  return { url, client: client as unknown as EtcdEndpoint["client"] };
}

test("a cluster that ends does not wait for an etcd that is dead: each server is asked once", async () => {
  const asked: string[] = [];
  const ending = new AbortController();
  const endpoints = ["http://a", "http://b"].map((url) => deadEndpoint(url, (one) => asked.push(one)));
  const client = new EtcdClient(endpoints, ending.signal);
  ending.abort();
  await expect(client.call(RANGE, {}, { timeoutMs: 60_000 })).rejects.toThrow("No connection established");
  expect(asked).toEqual(["http://a", "http://b"]);
});

test("a call that is being repeated when the cluster begins to end is given up", async () => {
  const ending = new AbortController();
  let calls = 0;
  const endpoint = deadEndpoint("http://a", () => {
    if (++calls === 4) ending.abort();
  });
  const client = new EtcdClient([endpoint], ending.signal);
  await expect(client.call(RANGE, {}, { timeoutMs: 60_000 })).rejects.toThrow("etcd at http://a");
  expect(calls).toBe(4);
});
