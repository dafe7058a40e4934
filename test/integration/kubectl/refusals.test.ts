import { afterAll, beforeAll, expect, test } from "vitest";
import { Kubectl } from "../../support/kubectl.js";
import { KubectlCluster, podManifest } from "../../support/kubectl-cluster.js";
import { LoggingProxy } from "../../support/logging-proxy.js";
import { suiteNeeding } from "../../support/requirements.js";

/** What is not served gets the API's own answer: an end, an exit code of 1, a sentence, and no 500 on the way. */
suiteNeeding(["kubectl"], "kubectl requests that are not served", () => {
  let cluster: KubectlCluster;
  let proxy: LoggingProxy;
  let kubectl: Kubectl;
  beforeAll(async () => {
    cluster = await KubectlCluster.start();
    proxy = await LoggingProxy.listen(cluster.controlPlane.admin);
    kubectl = new Kubectl({ server: proxy.url });
    await kubectl.run("create", "-f", kubectl.file("pod.json", podManifest("unbound")));
    const bound = podManifest("bound", { nodeName: "no-such-node" });
    await kubectl.run("create", "-f", kubectl.file("bound.json", bound));
  });
  afterAll(async () => {
    await proxy.close();
    await cluster.close();
  });

  const schema = { apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind: "FlowSchema", metadata: { name: "s" } };
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.example.com" },
    spec: { group: "example.com", names: { plural: "things", kind: "Thing" }, scope: "Cluster", versions: [] },
  };
  const rows: [argv: string[], want: RegExp][] = [
    [["top", "node"], /Metrics API not available|NotFound|metrics not available yet/],
    [["top", "pod"], /Metrics API not available|NotFound|metrics not available yet/],
    [["get", "flowschemas"], /doesn't have a resource type "flowschemas"/],
    [["create", "-f", "crd.json"], /must have exactly one version marked as storage version/],
    [["create", "-f", "nothing.json"], /no matches for kind "Nothing" in version "v1"/],
    [["get", "validatingwebhookconfigurations"], /doesn't have a resource type "validatingwebhookconfigurations"/],
    [["create", "-f", "schema.json"], /no matches for kind "FlowSchema" in version "flowcontrol.apiserver.k8s.io\/v1"/],
    [["get", "--raw", "/apis/batch/v1beta1/cronjobs"], /NotFound|the server could not find the requested resource/],
    [["get", "--raw", "/nowhere"], /NotFound|could not find the requested resource/],
    [["exec", "unbound", "--", "ls"], /does not have a host assigned/],
    [["attach", "unbound"], /does not have a host assigned/],
    [["port-forward", "pod/unbound", "0:80"], /Pending|not running/],
    [["logs", "nope"], /pods "nope" not found/],
    [["logs", "unbound", "-c", "nope"], /container nope is not valid|not valid for pod/],
    [["scale", "pod/unbound", "--replicas=2"], /could not find the requested resource/],
    [["rollout", "status", "pod/unbound"], /no status viewer has been implemented for/],
  ];
  for (const [argv, want] of rows) {
    test(argv.join(" "), async () => {
      kubectl.file("schema.json", schema);
      kubectl.file("crd.json", crd);
      kubectl.file("nothing.json", { apiVersion: "v1", kind: "Nothing", metadata: { name: "n" } });
      proxy.take();
      const { code, stderr } = await kubectl.try(argv);
      expect([code, stderr]).toEqual([1, expect.stringMatching(want)]);
      expect(proxy.take().filter(({ status = 0 }) => status >= 500)).toEqual([]);
    });
  }

  test("logs of a pod that has no node yet are empty", async () => {
    expect(await kubectl.run("logs", "unbound")).toBe("");
  });
});
