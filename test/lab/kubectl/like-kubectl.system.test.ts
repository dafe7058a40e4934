import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import type { KubectlRun } from "../../support/kubectl.js";
import { KubectlCluster } from "../../support/kubectl-cluster.js";
import { suiteNeeding } from "../../support/requirements.js";
import { runInProcess } from "../../support/run-cli.js";

const FILES = {
  "web.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, annotations: { note: a web site } }
spec:
  replicas: 1
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      initContainers: [{ name: first, image: "busybox:1.36", command: [sh, -c, "true"] }]
      containers:
      - name: main
        image: nginx:1.24
        ports: [{ containerPort: 80 }]
        resources: { requests: { cpu: 100m, memory: 64Mi }, limits: { memory: 128Mi } }
        readinessProbe: { httpGet: { path: /, port: 80 }, periodSeconds: 2 }
        livenessProbe: { exec: { command: [cat, /tmp/alive] } }
        startupProbe: { tcpSocket: { port: 80 } }
        env: [{ name: A, value: b }, { name: MODE, valueFrom: { configMapKeyRef: { name: settings, key: mode } } }]
        envFrom: [{ secretRef: { name: keys, optional: true } }]
        volumeMounts: [{ name: data, mountPath: /data, readOnly: true }]
      volumes: [{ name: data, emptyDir: {} }, { name: keys, secret: { secretName: keys } }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: 80 }] }
`,
  "map.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: { name: map, namespace: default }
data: { colour: blue, size: small }
`,
  "next.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: { name: map, namespace: default }
data: { colour: green }
`,
  "team.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: { name: map, namespace: default }
data: { sound: quiet }
`,
  "rival.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: { name: map, namespace: default }
data: { sound: loud }
`,
  "status.yaml": "status: { phase: Running, podIP: 10.1.2.3, podIPs: [{ ip: 10.1.2.3 }], message: forged }",
  "wrong.json": '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"Wrong_"},"spec":{"containers":[{"name":"x"}]}}',
};

/** Each line sees what those before have done, on a cluster of its own for each of both programs. */
const LINES = [
  "create configmap settings --from-literal=mode=good --from-literal a=b=c",
  "create secret generic keys --from-literal=private=abc",
  "create secret docker-registry login --docker-server r.example --docker-username u --docker-password p",
  "get secret login -o jsonpath='{.type} {.data}'",
  "create quota tight --hard=pods=9,services=5",
  "describe quota none",
  "create namespace team",
  "create -f wrong.json",
  "apply -f web.yaml",
  "apply -f web.yaml",
  "get deploy/web svc/web -o name",
  "get pods none nothing",
  "get all -o name",
  "get all web",
  "get pods,all web",
  "describe all web",
  "create deployment made --image=registry.kubelab.example/team/a:1 --image=b@sha256:1 --replicas=2",
  "get deployment made -o jsonpath='{.spec.replicas} {.metadata.labels} {.spec.selector} {.spec.template.spec.containers[*].name}'",
  "create deploy one-only --image=busybox --port 80 -r 0 -- sleep 5",
  "get deployment one-only -o jsonpath='{.spec.replicas} {.spec.template.spec.containers}'",
  "create deployment made --image=a",
  "create deployment other --image=a --replicas=-1",
  "create deployment other --image=a --image=b -- sleep 5",
  "create deployment --image=a",
  "delete deployments made one-only",
  "version foo",
  "version -o xml",
  "get deployment web none --ignore-not-found -o name",
  "rollout status deployment/web",
  "logs deployment/web",
  "logs deployment/web -c main",
  "logs deployment/web -c none",
  "get deployments,services web",
  "describe deployment web",
  "describe replicaset -l app=web",
  "describe node n1",
  "get deployment web -o jsonpath='{.metadata.annotations.note}'",
  "scale deployment web --replicas=2",
  "set image deployment/web main=nginx:1.25",
  "set image deployment/web nobody=nginx:1.25",
  "set env deployment web B=c A-",
  "set resources deployment web --requests memory=1Gi --limits cpu=2,memory=2Gi",
  "set selector service web app=web,tier=front",
  "get service web -o wide",
  "get deployment web -o jsonpath='{.spec.template.spec.containers[0].env[*].name} {.spec.template.spec.containers[0].resources}'",
  "rollout history deployment/web",
  "rollout undo deployment/web",
  "rollout undo deployment/web --to-revision=1",
  "rollout undo deployment/web --to-revision=99",
  "rollout restart deployment web",
  "rollout history deployment/web",
  "describe service web",
  "describe replicaset -l app=none",
  "expose deployment web --port 8080 --target-port 80 --name front --cluster-ip None",
  "get service front -o jsonpath='{.spec.clusterIP} {.spec.ports} {.spec.selector}'",
  'patch deployment web -p \'{"spec":{"replicas":0}}\'',
  'patch deployment web -p \'{"spec":{"replicas":0}}\'',
  'patch deployment web --type=json -p \'[{"op":"replace","path":"/spec/replicas","value":1}]\'',
  'patch service web --type=merge -p \'{"metadata":{"labels":{"a":"b"}}}\'',
  "get services --show-labels",
  'run one --image nginx:1.25 --restart=Never --env=A=b --env C=d --labels=x=y --overrides \'{"spec":{"nodeName":"nowhere","terminationGracePeriodSeconds":1}}\' -- sleep 5',
  "run one --image nginx",
  "get pod one -o jsonpath='{.spec.containers[0].env} {.spec.containers[0].args} {.spec.nodeName} {.metadata.labels}'",
  "patch pod one --subresource=status --patch-file status.yaml",
  "get pod one -o custom-columns=NAME:.metadata.name,IP:status.podIP,LABELS:.metadata.labels,GONE:.metadata.deletionTimestamp,IMAGES:.spec.containers[*].image",
  "get pods -l x=y --field-selector status.phase=Running -o name",
  "describe pod one",
  "describe pods -l x=y",
  "label pod one x=z",
  "label pod one x=z --overwrite",
  "label pod one x-",
  "annotate pod one note=1",
  "annotate pod one note=2",
  "taint nodes --all maintenance=true:NoSchedule",
  "taint nodes n1 maintenance=true:NoSchedule",
  "get node n1 -o jsonpath='{.spec.taints}'",
  "taint nodes --all maintenance-",
  "taint nodes --all maintenance-",
  "taint nodes n1 team=blue:NoSchedul",
  "taint nodes n1 team=blue:NoSchedule:x",
  'patch node n1 -p \'{"spec":{"taints":[{"key":"team","effect":"NoSchedul"}]}}\'',
  "cordon n1",
  "cordon n1",
  "get nodes -o wide",
  "uncordon n1",
  "delete pod one --force --grace-period=0",
  "delete pod none --ignore-not-found",
  "delete pods -l a=nothing",
  "apply -f map.yaml",
  'patch configmap map --type=merge -p \'{"data":{"mood":"calm"}}\'',
  "apply -f next.yaml",
  "get configmap map -o jsonpath='{.data}{.metadata.annotations}'",
  "apply -f next.yaml",
  "apply --server-side --field-manager=team -f team.yaml",
  "apply --server-side --field-manager=rival -f rival.yaml",
  "apply --server-side --dry-run=server --force-conflicts -f rival.yaml",
  "apply --server-side --dry-run=server --field-manager=rival -f rival.yaml",
  "apply --server-side --field-manager=rival --force-conflicts -f rival.yaml",
  "get configmap map -o jsonpath='{.data}{.metadata.managedFields[*].manager}'",
  "replace -f map.yaml",
  "replace --force -f map.yaml",
  "replace --force --grace-period=1 --cascade=orphan -f map.yaml",
  "replace --force --cascade=foo -f map.yaml",
  "replace --grace-period=1 -f map.yaml",
  "get configmap map -o jsonpath='{.data}{.metadata.managedFields[*].manager}'",
  "apply -f map.yaml",
  "delete -f map.yaml --now",
  "get configmaps,secrets",
  "get configmaps -A --no-headers",
  "top pods --namespace team",
  "auth can-i delete pods",
  "rollout status service/web",
  "rollout history service/web",
  "rollout undo service/web",
  "rollout restart service/web",
  "set env service/web A=b",
  "set image deployment/web",
  "set image deployment/web main",
  "set image",
  "set env",
  "set resources",
  "set resources deployment/web",
  "set selector",
  "rollout status",
  "rollout history",
  "rollout undo",
  "rollout restart",
  "create",
  "create nothing x",
  "create namespace",
  "create configmap a b",
  "create secret generic",
  "create quota",
  "delete",
  "delete pod",
  "delete pods --all -l a=b",
  "delete deployment web --cascade=foo",
  "get pods/none none",
  "get pods/",
  "get pods/none/more",
  "get pods none -l a=b",
  "get podz",
  "get pods -o jsonpath",
  "config use-context none",
  "scale --replicas=1",
  "scale deployment/web --replicas=-1",
  "label",
  "label pods",
  "label deployment web",
  "annotate",
  "annotate deployment web",
  "taint",
  "taint node n1",
  "cordon",
  "uncordon",
  "patch",
  "patch deployment web",
  "patch -p {}",
  "patch deployment web --type=foo -p {}",
  "apply",
  "apply -f map.yaml --dry-run=foo",
  "replace",
  "replace --force",
  "run --image nginx",
  "exec",
  "exec one",
  "logs",
  "expose",
  "expose deployment web",
  "certificate approve",
  "auth can-i get",
  'patch deployment web -p \'{"spec":{"template":{"spec":{"nodeName":"nowhere"}}}}\'',
  "rollout status deployment/web --timeout=0.3s",
  "delete deployment web --cascade=orphan",
  "delete services --all --wait=false",
];

suiteNeeding(["kubectl"], "the built-in kubectl prints what kubectl prints", () => {
  let own: KubectlCluster;
  let real: KubectlCluster;
  beforeAll(async () => {
    [own, real] = await Promise.all([KubectlCluster.start(["n1"]), KubectlCluster.start(["n1"])]);
    for (const { kubectl } of [own, real]) {
      for (const [name, text] of Object.entries(FILES)) writeFileSync(join(kubectl.home, name), text);
    }
  });
  afterAll(async () => {
    await Promise.all([own.close(), real.close()]);
  });

  test.each(LINES)("%s", async (line) => {
    const words = (line.match(/(?:[^\s']|'[^']*')+/g) ?? []).map((word) => word.replaceAll("'", ""));
    const env = { KUBECONFIG: own.kubectl.kubeconfig };
    const [printed, wanted] = await Promise.all([
      runInProcess(["learn", "kubectl", "--", ...words], { env, cwd: own.kubectl.home }),
      real.kubectl.try(words),
    ]);
    const { stderr, ...expected } = comparable(wanted);
    const actual = comparable(printed);
    // The built-in one adds a hint to an error of its own.
    assert.deepEqual({ ...actual, stderr: actual.stderr.slice(0, stderr.length) }, { ...expected, stderr });
  });
});

/** Without what differs from run to run: ages, times, addresses, generated names, hashes and UIDs. */
function comparable({ code, stdout, stderr }: KubectlRun) {
  const lines = (text: string) =>
    text
      .replace(/^See 'kubectl .*\n/gm, "")
      .replace(/^Waiting for deployment .*\n/gm, "")
      .replace(/\b(\d+[dhms]){1,2}\b/g, "AGE")
      .replace(/\w{3}, \d\d \w{3} \d{4} [\d:]{8} \+0000/g, "TIME")
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
      .replace(/\b10\.\d+\.\d+\.\d+\b/g, "IP")
      .replace(/\b(web-[a-z0-9]{8,10}|kube-api-access)-[a-z0-9]{5}\b/g, "$1-SUFFIX")
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID")
      .replace(/ +$/gm, "")
      .replace(/ +/g, " ")
      .trimEnd()
      .split("\n");
  return { code, stdout: lines(stdout), stderr: lines(stderr) };
}
