import { describe, expect, test } from "vitest";
import { decodePods, decodeSinglePod } from "../../../src/kubelet/config/decode.js";

const ORIGIN = { source: "/m/web.yaml", isFile: true, nodeName: "N1" };
const WEB = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: app
    image: busybox
`;

describe("a static pod", () => {
  test("gets a name, a namespace, its node, a uid that is its hash, and tolerates every eviction", async () => {
    const pod = await decodeSinglePod(WEB, ORIGIN);
    expect(pod.metadata).toMatchObject({ name: "web-n1", namespace: "default" });
    expect(pod.metadata.uid).toMatch(/^[0-9a-f]{32}$/);
    expect(pod.metadata.annotations).toEqual({ "kubernetes.io/config.hash": pod.metadata.uid });
    expect(pod.spec).toMatchObject({ nodeName: "N1", tolerations: [{ operator: "Exists", effect: "NoExecute" }] });
    expect(pod.status.phase).toBe("Pending");
  });

  test("a uid that the manifest names stays, and is the hash", async () => {
    const { metadata } = await decodeSinglePod(WEB.replace("name: web", "name: web\n  uid: mine"), ORIGIN);
    expect([metadata.uid, metadata.annotations?.["kubernetes.io/config.hash"]]).toEqual(["mine", "mine"]);
  });

  const json = JSON.stringify({
    kind: "Pod",
    spec: { containers: [{ image: "busybox", name: "app" }] },
    metadata: { name: "web" },
    apiVersion: "v1",
  });
  const uids: [string, string, Partial<typeof ORIGIN>, boolean][] = [
    ["the same again", WEB, {}, true],
    ["the same as JSON, members in another order", json, {}, true],
    ["the same with a comment", `# hello\n${WEB}`, {}, true],
    ["a default spelled out", `${WEB}  restartPolicy: Always\n`, {}, true],
    ["another image", WEB.replace("busybox", "nginx"), {}, false],
    ["a label more", WEB.replace("name: web", "name: web\n  labels: {x: z}"), {}, false],
    ["another file", WEB, { source: "/m/other.yaml" }, false],
    ["another node", WEB, { nodeName: "n2" }, false],
    ["from a URL", WEB, { isFile: false }, false],
  ];
  for (const [what, text, origin, isSame] of uids) {
    test(`uid of ${what}: ${isSame ? "the same" : "another"}`, async () => {
      const [one, other] = await Promise.all([
        decodeSinglePod(WEB, ORIGIN),
        decodeSinglePod(text, { ...ORIGIN, ...origin }),
      ]);
      expect(one.metadata.uid === other.metadata.uid).toBe(isSame);
    });
  }

  test("from a URL it has only its own tolerations", async () => {
    expect((await decodeSinglePod(WEB, { ...ORIGIN, isFile: false })).spec.tolerations).toBeUndefined();
  });

  test("what an API server would fill in is filled in", async () => {
    const text = `${WEB}    resources: {limits: {cpu: 1}}
    ports: [{containerPort: 80}]
    readinessProbe: {httpGet: {port: 80}}
    volumeMounts: [{name: v, mountPath: /v}, {name: s, mountPath: /s}]
  volumes:
  - name: v
  - name: s
    secret: {secretName: x, items: [{key: k, path: p, mode: 0600}]}
`;
    const { spec } = await decodeSinglePod(text, ORIGIN);
    expect(spec).toMatchObject({
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      volumes: [
        { name: "v", emptyDir: {} },
        { name: "s", secret: { defaultMode: 420, items: [{ mode: 384 }] } },
      ],
      containers: [
        {
          imagePullPolicy: "Always",
          terminationMessagePath: "/dev/termination-log",
          resources: { limits: { cpu: "1" }, requests: { cpu: "1" } },
          ports: [{ containerPort: 80, protocol: "TCP" }],
          readinessProbe: { httpGet: { port: 80, path: "/", scheme: "HTTP" }, periodSeconds: 10, failureThreshold: 3 },
        },
      ],
    });
  });

  test("times and ports stay texts", async () => {
    const text = WEB.replace("name: web", "name: web\n  annotations: {at: 2022-06-01, map: 80:80}");
    const { annotations } = (await decodeSinglePod(text, ORIGIN)).metadata;
    expect(annotations).toMatchObject({ at: "2022-06-01", map: "80:80" });
  });
});

describe("manifests that cannot be used", () => {
  const table: [string, string, string][] = [
    ["empty", " \n", "empty"],
    ["half written YAML", `${WEB}  - name: "b`, "couldn't parse as YAML"],
    ["half written JSON", '{"kind": "Pod", "spec": {', "couldn't parse as YAML"],
    ["a text", "hello", "it is not an object"],
    ["another kind", WEB.replace("kind: Pod", "kind: Service"), "got v1, Service"],
    ["another version", WEB.replace("apiVersion: v1", "apiVersion: v2"), "got v2, Pod"],
    ["no spec yet", WEB.slice(0, WEB.indexOf("spec:")), "needs metadata and a spec"],
    [
      "no containers",
      WEB.slice(0, WEB.indexOf("  containers:")).replace("spec:", "spec: {}"),
      "spec.containers: Required",
    ],
    ["no name", WEB.replace("name: web", "labels: {}"), "metadata.name"],
    ["a bad name", WEB.replace("name: web", "name: Web_1"), "metadata.name"],
    ["no image", WEB.replace("    image: busybox\n", ""), "spec.containers[0].image: Required value"],
    ["a container twice", `${WEB}  - {name: app, image: x}\n`, "spec.containers[1].name: Duplicate value"],
    ["a bad restart policy", `${WEB}  restartPolicy: Sometimes\n`, "spec.restartPolicy: Unsupported value"],
    ["a mount of nothing", `${WEB}    volumeMounts: [{name: v, mountPath: /v}]\n`, "volumeMounts[0].name: Not found"],
    [
      "containers that are no list",
      WEB.replace(/containers:[\s\S]*/, "containers: {a: b}\n"),
      "spec.containers: must be a list, not an object",
    ],
  ];
  for (const [what, text, why] of table) {
    test(`${what}: the error gives the reason`, async () => {
      await expect(decodeSinglePod(text, ORIGIN)).rejects.toThrow(why);
    });
  }
});

describe("fields of another type: one line each, with the path", () => {
  const table: [string, string][] = [
    // below the container app                       why
    ["env: [{name: A, value: 80}]", "env[0].value: must be a string, not 80 (put it in quotes)"],
    ["env: [{name: A, value: yes}]", "env[0].value: must be a string, not true (put it in quotes)"],
    ["env: {A: b}", "env: must be a list, not an object"],
    ["env: [A=b]", 'env[0]: must be an object, not the string "A=b"'],
    ["command: ls -l", 'command: must be a list, not the string "ls -l"'],
    ["args: [1]", "args[0]: must be a string, not 1 (put it in quotes)"],
    ["ports: [{containerPort: http}]", 'ports[0].containerPort: must be a whole number, not the string "http"'],
    [
      "readinessProbe: {httpGet: {port: [80]}}",
      "readinessProbe.httpGet.port: must be a whole number or a string, not a list",
    ],
    ["readinessProbe: {periodSeconds: 1.5}", "readinessProbe.periodSeconds: must be a whole number, not 1.5"],
    [
      "resources: {limits: {cpu: lots}}",
      'resources.limits.cpu: must be a quantity such as 500m or 1Gi, not the string "lots"',
    ],
    ["resources: {limits: [cpu]}", "resources.limits: must be an object, not a list"],
    ["securityContext: {privileged: 1}", "securityContext.privileged: must be true or false, not 1"],
    ["volumeMounts: [v]", 'volumeMounts[0]: must be an object, not the string "v"'],
    ["lifecycle: {preStop: sleep}", 'lifecycle.preStop: must be an object, not the string "sleep"'],
  ];
  for (const [field, why] of table) {
    test(field, async () => {
      const want = `invalid pod: spec.containers[0].${why}`;
      await expect(decodeSinglePod(`${WEB}    ${field}\n`, ORIGIN)).rejects.toMatchObject({ message: want });
    });
  }

  test("all that is wrong, in the order of the manifest", async () => {
    const text = `${WEB.replace("name: web", "name: 7\n  labels: {a: 1}")}    tty: maybe\n  hostNetwork: 1\n`;
    await expect(decodeSinglePod(text, ORIGIN)).rejects.toThrow(
      'invalid pod: metadata.name: must be a string, not 7 (put it in quotes), metadata.labels.a: must be a string, not 1 (put it in quotes), spec.containers[0].tty: must be true or false, not the string "maybe", spec.hostNetwork: must be true or false, not 1',
    );
  });

  test("null, unknown fields, numbers as quantities, ports by name", async () => {
    const field =
      "ports: null\n    future: [1]\n    resources: {limits: {cpu: 1.5, memory: 1e3}}\n    livenessProbe: {tcpSocket: {port: web}}";
    await decodeSinglePod(`${WEB}    ${field}\n`, ORIGIN);
  });
});

describe("lists", () => {
  const list = (items: unknown) => JSON.stringify({ apiVersion: "v1", kind: "PodList", items });
  const item = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: "app", image: "x" }] } });
  const origin = { source: "http://x", isFile: false, nodeName: "n1" };

  test("a list of pods, or a pod by itself", async () => {
    const names = async (text: string) => (await decodePods(text, origin)).map(({ metadata }) => metadata.name);
    expect(await names(list([item("a"), item("b")]))).toEqual(["a-n1", "b-n1"]);
    expect(await names(list([]))).toEqual([]);
    expect(await names(WEB)).toEqual(["web-n1"]);
  });
  test("one bad pod spoils the list", async () => {
    await expect(decodePods(list([item("a"), { metadata: {} }]), origin)).rejects.toThrow("invalid pod");
  });
});

test("imagePullPolicy: latest is pulled each time", async () => {
  const images = ["x", "x:latest", "h:5000/x", "x:1", "h:5000/x:1", "x@sha256:ab"];
  const pods = await Promise.all(images.map((image) => decodeSinglePod(WEB.replace("busybox", image), ORIGIN)));
  const policies = pods.map((pod) => pod.spec.containers?.[0]?.imagePullPolicy);
  expect(policies).toEqual(["Always", "Always", "Always", "IfNotPresent", "IfNotPresent", "IfNotPresent"]);
});

test("a malformed time in metadata is reported with its path", async () => {
  const text = WEB.replace("name: web", "name: web\n  creationTimestamp: yesterday");
  await expect(decodeSinglePod(text, ORIGIN)).rejects.toThrow(/metadata.creationTimestamp: must be a time .*yesterday/);
});
