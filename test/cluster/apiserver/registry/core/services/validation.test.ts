import assert from "node:assert/strict";
import { test } from "vitest";
import { createRegistry } from "../../../../../../src/cluster/apiserver/registry/generic/create-registry.js";
import { resourcesFor } from "../../../../../../src/cluster/apiserver/registry/table.js";
import { MemoryStorage } from "../../../../../../src/cluster/apiserver/storage/memory.js";
import type { KubeObject } from "../../../../../../src/staging/apimachinery/api/meta.js";
import { Trace } from "../../../../../../src/trace/trace.js";
import { FakeClock, FakeRandom } from "../../../../../support/fake-clock.js";
import { fields } from "../../../../../support/fields.js";
import { contextOf, openTableLab, refusal } from "../../table-lab.js";

type Spec = Record<string, unknown>;

function service(spec: Spec, annotations: Record<string, string> = {}): unknown {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "a", annotations },
    spec: { ports: [{ port: 80 }], ...spec },
  };
}

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const RANGES = "must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 ";
const SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges";

const INVALID: readonly [string, Spec, string, Record<string, string>?][] = [
  ["no ports", { ports: [] }, "spec.ports: Required value"],
  [
    "an unknown type",
    { type: "Pipe" },
    'spec.type: Unsupported value: "Pipe": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
  ],
  ["a port without a name", { ports: [{ port: 1, name: "a" }, { port: 2 }] }, "spec.ports[1].name: Required value"],
  ["a bad name of a port", { ports: [{ port: 1, name: "A" }] }, `spec.ports[0].name: Invalid value: "A": ${LABEL}`],
  [
    "a name twice",
    {
      ports: [
        { port: 1, name: "a" },
        { port: 2, name: "a" },
      ],
    },
    'spec.ports[1].name: Duplicate value: "a"',
  ],
  [
    "a port twice",
    {
      ports: [
        { port: 1, name: "a" },
        { port: 1, name: "b" },
      ],
    },
    'spec.ports[1]: Duplicate value: core.ServicePort{Name:"", Protocol:"TCP", AppProtocol:(*string)(nil), Port:1, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}',
  ],
  [
    "a port number",
    { ports: [{ port: 70000, targetPort: 1 }] },
    "spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive",
  ],
  [
    "a protocol",
    { ports: [{ port: 1, protocol: "ICMP" }] },
    'spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
  ],
  [
    "a target port",
    { ports: [{ port: 1, targetPort: 70000 }] },
    "spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
  ],
  [
    "a target port's name",
    { ports: [{ port: 1, targetPort: "123" }] },
    'spec.ports[0].targetPort: Invalid value: "123": must contain at least one letter (a-z)',
  ],
  [
    "a node port of a cluster IP",
    { ports: [{ port: 1, nodePort: 30001 }] },
    "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
  ],
  [
    "headless node ports",
    { type: "NodePort", clusterIP: "None" },
    "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
  ],
  [
    "a headless load balancer",
    { type: "LoadBalancer", clusterIP: "None" },
    "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for LoadBalancer services",
  ],
  [
    "the kubelet's port",
    { type: "LoadBalancer", ports: [{ port: 10250 }] },
    "spec.ports[0]: Invalid value: 10250: may not expose port 10250 externally since it is used by kubelet",
  ],
  ["an external name without a name", { type: "ExternalName" }, "spec.externalName: Required value"],
  [
    "an external name that is none",
    { type: "ExternalName", externalName: "-x" },
    "spec.externalName: Invalid value: \"-x\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ],
  [
    "an external name with an address",
    { type: "ExternalName", externalName: "x.y", clusterIP: "10.96.0.7" },
    "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
  ],
  [
    "a selector",
    { selector: { "a b": "c" } },
    "spec.selector: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  [
    "a session affinity",
    { sessionAffinity: "Cookie" },
    'spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"',
  ],
  [
    "a session that is too long",
    { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 86401 } } },
    "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400",
  ],
  [
    "an external IP",
    { externalIPs: ["127.0.0.1"] },
    'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8)',
  ],
  [
    "an external IP that is none",
    { externalIPs: ["x"] },
    'spec.externalIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  [
    "source ranges without a load balancer",
    { loadBalancerSourceRanges: ["10.0.0.0/8"] },
    "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ],
  [
    "source ranges",
    { type: "LoadBalancer", loadBalancerSourceRanges: ["10.0.0.0/8", "x"] },
    `spec.LoadBalancerSourceRanges: Invalid value: "[10.0.0.0/8 x]": ${RANGES}`,
  ],
  [
    "source ranges of an annotation",
    { type: "LoadBalancer" },
    `metadata.annotations[${SOURCE_RANGES}]: Invalid value: "x/33": ${RANGES}`,
    { [SOURCE_RANGES]: "x/33" },
  ],
  [
    "node ports of a load balancer",
    { allocateLoadBalancerNodePorts: true },
    "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ],
  [
    "a load balancer's class",
    { loadBalancerClass: "x.y/z" },
    "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ],
  [
    "an external policy",
    { externalTrafficPolicy: "Local" },
    'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
  ],
  [
    "an unknown external policy",
    { type: "NodePort", externalTrafficPolicy: "Near" },
    'spec.externalTrafficPolicy: Unsupported value: "Near": supported values: "Cluster", "Local"',
  ],
  [
    "an internal policy",
    { internalTrafficPolicy: "Near" },
    'spec.internalTrafficPolicy: Unsupported value: "Near": supported values: "Cluster", "Local"',
  ],
  [
    "a health check port",
    { healthCheckNodePort: 30001 },
    "spec.healthCheckNodePort: Invalid value: 30001: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
  ],
];

for (const [name, spec, expected, annotations] of INVALID) {
  test(`invalid: ${name}`, async () => {
    const lab = await openTableLab();
    const status = await refusal(lab.create("services", service(spec, annotations)));
    assert.equal(status.message, `Service "a" is invalid: ${expected}`);
  });
}

const DEFAULTS: readonly [string, Spec, string, unknown][] = [
  ["the target port is the port", {}, "ports", [{ port: 80, protocol: "TCP", targetPort: 80 }]],
  ["sessions have no affinity", {}, "sessionAffinity", "None"],
  [
    "a session lasts three hours",
    { sessionAffinity: "ClientIP" },
    "sessionAffinityConfig",
    { clientIP: { timeoutSeconds: 10800 } },
  ],
  ["traffic goes to all nodes", {}, "internalTrafficPolicy", "Cluster"],
  ["so does traffic from outside", { type: "NodePort" }, "externalTrafficPolicy", "Cluster"],
  ["a cluster IP has no traffic from outside", {}, "externalTrafficPolicy", undefined],
  ["a load balancer has node ports", { type: "LoadBalancer" }, "allocateLoadBalancerNodePorts", true],
  ["an external name has no policy", { type: "ExternalName", externalName: "x" }, "internalTrafficPolicy", undefined],
];

for (const [name, spec, field, expected] of DEFAULTS) {
  test(`default: ${name}`, async () => {
    const lab = await openTableLab();
    assert.deepEqual(fields((await lab.create("services", service(spec))).spec)[field], expected);
  });
}

const ingress = (one: Record<string, unknown>) => ({ loadBalancer: { ingress: [one] } });

test("the status of a load balancer: addresses and names are checked, the spec stays", async () => {
  const lab = await openTableLab();
  const old = await lab.create("services", service({ type: "LoadBalancer" }));
  const put = (status: unknown) =>
    lab.put(
      "services",
      "a",
      { ...old, metadata: { name: "a" }, spec: { ports: [{ port: 1 }] }, status },
      { subresource: "status" },
    );
  const set = await put(ingress({ ip: "192.0.2.1" }));
  assert.deepEqual([set.spec, set["status"]], [old["spec"], ingress({ ip: "192.0.2.1" })]);
  const refused = async (one: Record<string, unknown>) => (await refusal(put(ingress(one)))).message ?? "";
  assert.match(await refused({ ip: "x" }), /ingress\[0\]\.ip: Invalid value: "x": must be a valid IP address$/);
  assert.match(await refused({ hostname: "10.0.0.1" }), /must be a DNS name, not an IP address$/);
});

test("after a restart the stored services keep their addresses and ports", async () => {
  const clock = new FakeClock();
  const storage = new MemoryStorage({ clock });
  const open = () => {
    const definitions = resourcesFor("1.25");
    const random = new FakeRandom();
    return createRegistry({
      storage,
      clock,
      random,
      trace: new Trace(clock),
      admission: [],
      kubeVersion: "1.25",
      definitions,
    });
  };
  const body = (name: string) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: {
      type: "NodePort",
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
      externalTrafficPolicy: "Cluster",
      ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
    },
  });
  const made: KubeObject[] = [];
  for (const name of ["a", "b"]) made.push(await open().store("services").create(contextOf(), "default", body(name)));
  const of = (field: string) => made.map((one) => fields(one["spec"])[field]);
  assert.deepEqual(of("clusterIP"), ["10.104.0.128", "10.104.0.129"]);
  assert.deepEqual(
    of("ports").map((ports) => fields((ports as unknown[])[0]).nodePort),
    [31384, 31385],
  );
});
