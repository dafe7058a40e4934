import type { HealthCheck } from "../../../../staging/server/healthz.js";
import type { StorageHealth } from "../storage.js";
import type { EtcdClient } from "./client.js";
import { HEALTH_KEY } from "./requests.js";
import { RANGE } from "./rpcs.js";

/** Mirrors newETCD3HealthCheck and newETCD3ReadyCheck in storagebackend/factory/etcd3.go, and the rows of componentstatus/rest.go. */
export function etcdHealth(client: EtcdClient, timeoutMs: number): StorageHealth {
  const request = { key: HEALTH_KEY };
  const check = async () => {
    await client.call(RANGE, request, { timeoutMs, isRetried: false });
  };
  const checks = [
    { name: "etcd", check },
    { name: "etcd-readiness", check, readyOnly: true },
  ];
  const components = client.endpoints.map((endpoint, index): HealthCheck => {
    const ask = () => client.callAt(endpoint, RANGE, request, client.clock.now() + timeoutMs);
    return { name: `etcd-${index}`, check: async () => void (await ask()) };
  });
  return { checks, components };
}
