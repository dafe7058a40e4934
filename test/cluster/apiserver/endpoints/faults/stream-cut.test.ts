import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { ServerFaults } from "../../../../../src/cluster/apiserver/endpoints/faults/server-faults.js";
import { Face } from "../../server/support.js";

test("a stream that matches ends in the middle, others stay open", async () => {
  const sockets: Socket[] = [];
  // A kubelet that accepts connections and never answers.
  const kubelet = createServer((socket) => sockets.push(socket.on("error", () => {})));
  kubelet.listen(0, "127.0.0.1");
  await once(kubelet, "listening");
  const faults = new ServerFaults();
  await using face = await Face.open({ faults });
  try {
    for (const name of ["a", "b"]) {
      const { port: Port } = kubelet.address() as AddressInfo;
      const status = {
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port } },
      };
      const body = { apiVersion: "v1", kind: "Node", metadata: { name }, status };
      await face.ask("/api/v1/nodes", { method: "POST", body });
      await face.ask(`/api/v1/nodes/${name}/status`, { method: "PUT", body });
    }
    const ends: string[] = [];
    const streams = ["a", "b"].map((name) =>
      face.ask(`/api/v1/nodes/${name}/proxy/healthz`, { as: { ...face.admin } }).then(
        () => ends.push(`${name}: answered`),
        (error: Error) => ends.push(`${name}: ${error.message}`),
      ),
    );
    await expect.poll(() => sockets.length).toBe(2);
    faults.cutStreams({ resource: "nodes/proxy", name: "a" });
    await streams[0];
    expect(ends).toEqual(["a: socket hang up"]);
    faults.cutStreams({});
    await streams[1];
    expect(ends).toEqual(["a: socket hang up", "b: socket hang up"]);
  } finally {
    for (const socket of sockets) socket.destroy();
    kubelet.close();
  }
});
