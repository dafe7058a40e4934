import { expect, test } from "vitest";
import { Kubectl, kubectlAtLeast } from "../../support/kubectl.js";
import { KubectlCluster } from "../../support/kubectl-cluster.js";
import { LoggingProxy } from "../../support/logging-proxy.js";
import { suiteNeeding } from "../../support/requirements.js";

suiteNeeding(["kubectl"], "kubectl's discovery", () => {
  const rows: [kubeVersion: string, requests: number][] = [
    ["1.25", 14],
    // From 1.27 on the server has it all in two documents, one for the core group and one for the others.
    ["1.32", 2],
  ];
  for (const [kubeVersion, requests] of rows) {
    test(`v${kubeVersion}: discovery in ${requests} requests`, async (context) => {
      if (requests === 2 && !kubectlAtLeast(27)) return context.skip("kubectl asks for plain lists before 1.27");
      const cluster = await KubectlCluster.start([], { kubeVersion });
      const proxy = await LoggingProxy.listen(cluster.controlPlane.admin);
      try {
        const kubectl = new Kubectl({ server: proxy.url });
        const listed = await kubectl.run("api-resources");
        expect(listed).toMatch(/^pods +po +v1 +true +Pod$/m);
        expect(listed).toMatch(/^leases +coordination\.k8s\.io\/v1 +true +Lease$/m);
        expect(listed.includes("selfsubjectreviews")).toBe(kubeVersion === "1.32");
        const asked = proxy.take().filter(({ path }) => path.startsWith("/api"));
        expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 200));
        if (requests === 2) expect(asked.map(({ path }) => path.split("?")[0])).toEqual(["/api", "/apis"]);
        else expect(asked.length).toBeGreaterThanOrEqual(requests);
      } finally {
        await proxy.close();
        await cluster.close();
      }
    });
  }
});
