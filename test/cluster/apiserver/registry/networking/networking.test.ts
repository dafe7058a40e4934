import { describe, expect, test } from "vitest";
import { FakeClock } from "../../../../support/fake-clock.js";
import { fields } from "../../../../support/fields.js";
import { recordingTrace } from "../../../../support/trace.js";
import { openTableLab, refusalIfAny } from "../table-lab.js";

type Fields = Readonly<Record<string, unknown>>;

const GROUP_VERSION = "networking.k8s.io/v1";

function object(kind: string, spec: Fields, annotations: Readonly<Record<string, string>> = {}) {
  return { apiVersion: GROUP_VERSION, kind, metadata: { name: "x", annotations }, spec };
}

async function errorsOf(resource: string, body: unknown): Promise<string[]> {
  const lab = await openTableLab();
  const status = await refusalIfAny(lab.create(resource, body));
  return (status?.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);
}

const peer = (from: Fields) => ({ podSelector: {}, ingress: [{ from: [from] }] });
const port = (one: Fields) => ({ podSelector: {}, egress: [{ ports: [one] }] });

describe("network policies", () => {
  test.each<[Fields, string[]]>([
    [{ podSelector: {} }, []],
    [peer({ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }), []],
    [peer({ namespaceSelector: {}, podSelector: {} }), []],
    [port({ port: 80, endPort: 90 }), []],
    [peer({}), ["spec.ingress[0].from[0]: Required value: must specify a peer"]],
    [
      peer({ podSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } }),
      ["spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"],
    ],
    [peer({ ipBlock: { cidr: "" } }), ["spec.ingress[0].from[0].ipBlock.cidr: Required value"]],
    [
      peer({ ipBlock: { cidr: "10.0.0.0" } }),
      ['spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0": not a valid CIDR'],
    ],
    [
      peer({ ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/16", "10.0.0.0/8", "fd00::/16"] } }),
      [
        'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
        'spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
        'spec.ingress[0].from[0].ipBlock.except[2]: Invalid value: "fd00::/16": must be a strict subset of `cidr`',
      ],
    ],
    [port({ port: 0 }), ["spec.egress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"]],
    [
      port({ protocol: "ICMP" }),
      ['spec.egress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"'],
    ],
    [
      port({ port: 80, endPort: 79 }),
      ["spec.egress[0].ports[0].endPort: Invalid value: 79: must be greater than or equal to `port`"],
    ],
    [
      port({ port: "http", endPort: 79 }),
      ["spec.egress[0].ports[0].endPort: Invalid value: 79: may not be specified when `port` is non-numeric"],
    ],
    [
      { podSelector: {}, policyTypes: ["Both"] },
      ['spec.policyTypes[0]: Unsupported value: "Both": supported values: "Ingress", "Egress"'],
    ],
  ])("%j: %j", async (spec, errors) => {
    expect(await errorsOf("networkpolicies", object("NetworkPolicy", spec))).toEqual(errors);
  });

  test.each<[Fields, string[]]>([
    [{ podSelector: {} }, ["Ingress"]],
    [{ podSelector: {}, egress: [{}] }, ["Ingress", "Egress"]],
    [{ podSelector: {}, egress: [{}], policyTypes: ["Egress"] }, ["Egress"]],
  ])("%j has the policy types %j", async (spec, types) => {
    const lab = await openTableLab();
    const made = await lab.create("networkpolicies", object("NetworkPolicy", spec));
    expect(fields(made.spec).policyTypes).toEqual(types);
  });

  test("a creation says, by a warning and a fact, that nothing enforces it", async () => {
    const facts = recordingTrace(new FakeClock());
    const lab = await openTableLab(facts.trace);
    const context = { user: { username: "u", groups: [] }, warnings: [] as string[], auditId: "a1" };
    const { strategy } = lab.definition("networkpolicies");
    const body = { ...object("NetworkPolicy", { podSelector: {} }) };
    await lab.registry.store("networkpolicies.networking.k8s.io").create(context, "default", body);
    expect(strategy.prepareForCreate).toBeDefined();
    expect(context.warnings.join()).toMatch(/does not enforce them/);
    expect(facts.events).toContainEqual(
      expect.objectContaining({
        kind: "decision",
        what: "store NetworkPolicy default/x and enforce nothing",
        auditId: "a1",
        actor: "apiserver",
      }),
    );
  });
});

const backend = { service: { name: "web", port: { number: 80 } } };
const path = (one: Fields) => ({ rules: [{ http: { paths: [{ pathType: "Prefix", path: "/", backend, ...one }] } }] });
const AT = "spec.rules[0].http.paths[0]";

describe("ingresses", () => {
  test.each<[Fields, string[]]>([
    [path({}), []],
    [{ defaultBackend: { resource: { kind: "Bucket", name: "b", apiGroup: "x.io" } } }, []],
    [{ rules: [{ host: "*.example.com" }], tls: [{ hosts: ["*.example.com"], secretName: "s" }] }, []],
    [{}, ["spec: Invalid value: []networking.IngressRule(nil): either `defaultBackend` or `rules` must be specified"]],
    [path({ pathType: undefined }), [`${AT}.pathType: Required value: pathType must be specified`]],
    [
      path({ pathType: "Regex" }),
      [`${AT}.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`],
    ],
    [path({ path: "a" }), [`${AT}.path: Invalid value: "a": must be an absolute path`]],
    [path({ path: "/a//b" }), [`${AT}.path: Invalid value: "/a//b": must not contain '//'`]],
    [path({ path: "/a/.." }), [`${AT}.path: Invalid value: "/a/..": cannot end with '/..'`]],
    [path({ backend: {} }), [`${AT}.backend: Invalid value: "": resource or service backend is required`]],
    [
      path({ backend: { service: { name: "web", port: {} } } }),
      [`${AT}.backend: Required value: port name or number is required`],
    ],
    [
      path({ backend: { service: { name: "web", port: { name: "a", number: 1 } } } }),
      [`${AT}.backend: Invalid value: "": cannot set both port name & port number`],
    ],
    [path({ backend: { service: { name: "", port: { number: 1 } } } }), [`${AT}.backend.service.name: Required value`]],
    [
      { rules: [{ host: "10.0.0.1" }] },
      ['spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address'],
    ],
    [{ rules: [{ http: { paths: [] } }] }, ["spec.rules[0].http.paths: Required value"]],
  ])("%j: %j", async (spec, errors) => {
    expect(await errorsOf("ingresses", object("Ingress", spec))).toEqual(errors);
  });

  test("class by field and by annotation", async () => {
    const annotations = { "kubernetes.io/ingress.class": "a" };
    expect(await errorsOf("ingresses", object("Ingress", { ...path({}), ingressClassName: "b" }, annotations))).toEqual(
      ['annotations.kubernetes.io/ingress.class: Invalid value: "a": can not be set when the class field is also set'],
    );
  });

  test.each<[Fields, unknown[]]>([
    [path({}), ["<none>", "*", "", "80"]],
    [{ ingressClassName: "n", rules: [{ host: "a" }], tls: [{}] }, ["n", "a", "", "80, 443"]],
    [{ rules: ["a", "b", "c", "d", "e"].map((host) => ({ host })) }, ["<none>", "a,b,c + 2 more...", "", "80"]],
  ])("kubectl get of %j", async (spec, cells) => {
    const lab = await openTableLab();
    const made = await lab.create("ingresses", object("Ingress", spec));
    expect(lab.definition("ingresses").table?.cells(made, 0).slice(1, 5)).toEqual(cells);
  });
});

describe("ingress classes", () => {
  const namespaced = { kind: "P", name: "p", scope: "Namespace" };
  test.each<[Fields, string[]]>([
    [{ controller: "example.com/c" }, []],
    [{}, ["spec.controller: Required value"]],
    [
      { controller: "c" },
      ['spec.controller: Invalid value: "c": must be a domain-prefixed path (such as "acme.io/foo")'],
    ],
    [
      { controller: "example.com/c", parameters: namespaced },
      ['spec.parameters.namespace: Required value: `parameters.scope` is set to "Namespace"'],
    ],
    [
      { controller: "example.com/c", parameters: { kind: "", name: "n" } },
      ["spec.parameters.kind: Required value: kind is required"],
    ],
  ])("%j: %j", async (spec, errors) => {
    expect(await errorsOf("ingressclasses", object("IngressClass", spec))).toEqual(errors);
  });

  test("the controller cannot change", async () => {
    const lab = await openTableLab();
    const made = await lab.create("ingressclasses", object("IngressClass", { controller: "example.com/c" }));
    const status = await refusalIfAny(
      lab.put("ingressclasses", "x", { ...made, spec: { controller: "example.com/d" } }),
    );
    expect(status?.message).toMatch(/spec.controller: Invalid value: "example.com\/d": field is immutable$/);
  });
});
