import { afterAll, beforeAll, expect, test } from "vitest";
import { KubectlCluster } from "../../support/kubectl-cluster.js";
import { suiteNeeding } from "../../support/requirements.js";

suiteNeeding(["kubectl"], "kubectl and services", () => {
  let cluster: KubectlCluster;
  const kubectl = (...args: string[]) => cluster.kubectl.run(...args);
  const field = (what: string, path: string) => kubectl("get", what, "-o", `jsonpath={${path}}`);
  const refused = async (...args: string[]) => {
    const { code, stderr } = await cluster.kubectl.try(args);
    expect(code).toBe(1);
    return stderr;
  };

  beforeAll(async () => {
    cluster = await KubectlCluster.start(["n1"]);
  });
  afterAll(() => cluster.close());

  test("create service: addresses, node ports, and what is refused", async () => {
    await kubectl("create", "service", "clusterip", "headless", "--clusterip=None", "--tcp=80");
    await kubectl("create", "service", "nodeport", "np", "--tcp=80:8080", "--node-port=30080");
    await kubectl("create", "service", "loadbalancer", "lb", "--tcp=80");
    await kubectl("create", "service", "externalname", "ext", "--external-name=db.example.org");
    const table = await kubectl("get", "services");
    expect(table).toMatch(/^headless +ClusterIP +None +<none> +80\/TCP/m);
    expect(table).toMatch(/^np +NodePort +10\.\d+\.\d+\.\d+ +<none> +80:30080\/TCP/m);
    expect(table).toMatch(/^lb +LoadBalancer +10\.\d+\.\d+\.\d+ +<pending> +80:3\d{4}\/TCP/m);
    expect(table).toMatch(/^ext +ExternalName +<none> +db\.example\.org +<none>/m);
    expect(await refused("create", "service", "nodeport", "np2", "--tcp=80", "--node-port=30080")).toContain(
      "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated",
    );
    expect(await refused("create", "service", "clusterip", "x", "--clusterip=10.96.0.1", "--tcp=80")).toContain(
      "failed to allocate IP 10.96.0.1: provided IP is already allocated",
    );
    expect(await refused("patch", "service", "np", "-p", '{"spec":{"clusterIP":"10.96.9.9"}}')).toContain(
      'spec.clusterIPs[0]: Invalid value: []string{"10.96.9.9"}: may not change once set',
    );
    await kubectl("patch", "service", "np", "-p", '{"spec":{"type":"ClusterIP"}}');
    expect(await field("service/np", ".spec.ports[0].nodePort")).toBe("");
    await kubectl("create", "service", "nodeport", "np2", "--tcp=80", "--node-port=30080");
    await kubectl("delete", "service", "headless", "np", "np2", "lb", "ext");
  });

  test("expose, get endpoints and endpointslices, describe", async () => {
    const web = ["run", "web", "--image=nginx", "--labels=app=web", "--port=80"];
    await kubectl(...web, '--overrides={"spec":{"nodeName":"n1"}}');
    await kubectl("expose", "pod", "web", "--port=8080", "--target-port=80");
    const status = {
      podIP: "10.244.0.9",
      podIPs: [{ ip: "10.244.0.9" }],
      conditions: [{ type: "Ready", status: "True" }],
    };
    await kubectl("patch", "pod", "web", "--subresource=status", "--type=merge", "-p", JSON.stringify({ status }));
    await kubectl("wait", "--for=jsonpath={.subsets[0].addresses[0].ip}=10.244.0.9", "endpoints/web", "--timeout=20s");
    expect(await kubectl("get", "endpoints", "web")).toMatch(/^web +10\.244\.0\.9:80 /m);
    expect(await kubectl("get", "endpointslices", "-l", "kubernetes.io/service-name=web")).toMatch(
      /^web-\w{5} +IPv4 +80 +10\.244\.0\.9 /m,
    );
    const text = await kubectl("describe", "service", "web");
    expect(text).toMatch(/^Selector: +app=web$/m);
    expect(text).toMatch(/^Endpoints: +10\.244\.0\.9:80$/m);
    expect(text).toMatch(/^Events: +<none>$/m);
    await kubectl("delete", "service", "web");
    await kubectl("wait", "--for=delete", "endpoints/web", "--timeout=20s");
  });
});
