import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { ControlPlane } from "../../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../../src/cluster/control-plane/start.js";
import { parseLine } from "../../../src/lab/kubectl/flags.js";
import { kubeconfigText } from "../../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import { executeJsonPath } from "../../../src/staging/client-go/jsonpath/jsonpath.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { untilTrue } from "../../support/fake-clock.js";
import { runInProcess } from "../../support/run-cli.js";

const object = {
  metadata: { name: "n1", labels: { "a.b/c": "x" } },
  items: [
    { name: "a", n: 1 },
    { name: "b", n: 2 },
  ],
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Other", status: "False" },
    ],
    empty: null,
  },
};
const paths: readonly (readonly [string, string])[] = [
  ["{.metadata.name}", "n1"],
  ["name={.metadata.name}!", "name=n1!"],
  ["{.items[*].name}", "a b"],
  ["{.items[1].name}", "b"],
  ["{.items[-1].n}", "2"],
  ['{.status.conditions[?(@.type=="Ready")].status}', "True"],
  ["{.metadata.labels['a\\.b/c']}", "x"],
  ["{.metadata.labels['a.b/c']}", ""],
  ['{range .items[*]}{.name}={.n}{"\\n"}{end}', "a=1\nb=2\n"],
  ["{range .gone[*]}{.name}{end}.", "."],
  ["{.status.gone.more}", ""],
  ["{.items[0]}", '{"n":1,"name":"a"}'],
  ["{.items[0:1].name}", "a"],
  ["{.items[::2].name}", "a"],
  ["{.items[0]['name','n']}", "a 1"],
  ["{.items[?(@.n>1)].name}", "b"],
  ["{.items[?(@.n!=1)].name}", "b"],
  ["{.status.conditions[?(@.type)].type}", "Ready Other"],
  ["{.status.conditions[?(@.gone)].type}", ""],
  ["{..type}", "Ready Other"],
  ["{range .items[*]}{range @}{.n}{end};{end}", "1;2;"],
];
const unreadable: readonly (readonly [string, string])[] = [
  ["{.a", "unclosed action"],
  ["{.a[x]}", "invalid array index x"],
  ["{.a[0}", "unterminated array"],
  ['{"a}', "unterminated quoted string"],
  ["{.a[?(@.b]}", "unterminated filter"],
  ["{end}", "not in range, nothing to end"],
  ["{name}", "unrecognized identifier name"],
  ["{.metadata[0]}", "map[string]interface {} is not array or slice"],
  ["{.items[5]}", "array index out of bounds: index 5, length 2"],
];
for (const [template, want] of paths) {
  test(`jsonpath ${template}`, () => assert.equal(executeJsonPath(template, object), want));
}
for (const [template, reason] of unreadable) {
  test(`jsonpath ${template} is refused: ${reason}`, () => {
    const message = `error parsing jsonpath ${template}, ${reason}`;
    assert.throws(() => executeJsonPath(template, object), { code: "USAGE", message });
  });
}

describe("lines are taken apart as kubectl does it", () => {
  const flags = {
    get: "output|o= selector|l= all-namespaces|A",
    delete: "cascade=background wait=true now",
    create: "filename|f=",
    "create configmap": "",
    "create secret generic": "",
    "set env": "",
    exec: "stdin|i tty|t",
  };
  const lines: readonly (readonly [string, string, string, object])[] = [
    [
      "get pods -nkube-system -o=name --selector a=b -A",
      "get",
      "pods",
      { namespace: ["kube-system"], output: ["name"], selector: ["a=b"], "all-namespaces": ["true"] },
    ],
    ["-n x get pods -v=6", "get", "pods", { namespace: ["x"], v: ["6"] }],
    ["get pods -v 6 -o json -o yaml", "get", "pods", { v: ["6"], output: ["json", "yaml"] }],
    ["delete pod x --wait=false --cascade", "delete", "pod x", { wait: ["false"], cascade: ["background"] }],
    ["delete pod x --cascade=orphan --now", "delete", "pod x", { cascade: ["orphan"], now: ["true"] }],
    ["set env deploy x A=b", "set env", "deploy x A=b", {}],
    ["exec x -it", "exec", "x", { stdin: ["true"], tty: ["true"] }],
  ];
  test.each(lines)("%s", (line, verb, words, found) => {
    assert.deepEqual(parseLine(line.split(" "), flags), { verb, words: words.split(" "), flags: found, rest: [] });
  });
  test("the words after -- are the command's", () => {
    assert.deepEqual(parseLine(["exec", "x", "--", "-n", "1"], flags).rest, ["-n", "1"]);
  });
  const INSTALL = /install kubectl for everything else/;
  const refused: readonly (readonly [string, string, RegExp, RegExp])[] = [
    ["get pods --sort-by x", "USAGE", /does not know --sort-by of kubectl get, only -o\/--output .* -v$/, INSTALL],
    ["get pods --request-timeout 1s", "USAGE", /does not know --request-timeout of/, INSTALL],
    ["drain n1", "USAGE", /does not know drain$/, INSTALL],
    ["set subject x", "USAGE", /does not know set subject$/, INSTALL],
    ["create ingress x", "USAGE", /does not know create ingress$/, INSTALL],
    ["get pods -o", "FAILED", /^flag needs an argument: 'o' in -o$/, /^See kubectl get --help$/],
    ["get pods --output", "FAILED", /^flag needs an argument: --output$/, /^See kubectl get --help$/],
    ["get pods --namesapce x", "FAILED", /^unknown flag: --namesapce$/, /^Did you mean --namespace\?$/],
    ["get pods --sort-bi x", "FAILED", /^unknown flag: --sort-bi$/, /^Did you mean --sort-by\?$/],
    ["get pods -zx", "FAILED", /^unknown shorthand flag: 'z' in -zx$/, /^See kubectl get --help$/],
    ["gett pods", "FAILED", /^unknown command "gett" for "kubectl"$/, /^Did you mean get\?$/],
    ["drian n1", "FAILED", /^unknown command "drian" for "kubectl"$/, /^Did you mean drain\?$/],
    ["q", "FAILED", /^unknown command "q" for "kubectl"$/, /^See kubectl --help$/],
    ["set envv x", "FAILED", /^unknown command "envv"$/, /^Did you mean env\?$/],
    ["set", "FAILED", /^kubectl set needs one of these after it: env$/, /^See kubectl set --help$/],
    ["create confgmap x -n y", "FAILED", /^Unexpected args: \[confgmap x\]$/, /^Did you mean configmap\?$/],
    ["create secret", "FAILED", /^kubectl create secret needs one of these after it: generic$/, /secret --help$/],
  ];
  test.each(refused)("%s is refused", (line, code, message, hint) => {
    assert.throws(() => parseLine(line.split(" "), flags), { code, message, hint });
  });
});

describe("the built-in kubectl on a cluster", () => {
  const root = mkdtempSync(join(tmpdir(), "kubelab-kubectl-"));
  const kubeconfig = join(root, "admin.conf");
  let cluster: ControlPlane;
  beforeAll(async () => {
    const clock = new SystemClock();
    cluster = await startControlPlane({
      clock,
      random: new SystemRandom(),
      trace: new Trace(clock),
      kubeVersion: "1.25",
    });
    writeFileSync(kubeconfig, kubeconfigText(cluster.admin, { cluster: "c", user: "admin", context: "c" }));
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
    writeFileSync(join(root, "node.yaml"), JSON.stringify(node));
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "map" } };
    writeFileSync(join(root, "map.yaml"), JSON.stringify({ ...map, data: { x: "1" } }));
    writeFileSync(join(root, "rival.yaml"), JSON.stringify({ ...map, data: { x: "2" } }));
    const template = {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "main", image: "nginx:1.24" }] },
    };
    const spec = { selector: { matchLabels: { app: "web" } }, template };
    const web = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec };
    writeFileSync(join(root, "web.yaml"), JSON.stringify(web));
  });
  afterAll(async () => {
    await cluster.close();
    rmSync(root, { recursive: true, force: true });
  });
  const kubectl = (line: string) =>
    runInProcess(["learn", "kubectl", "--", ...line.split(" ")], { env: { KUBECONFIG: kubeconfig }, cwd: root });

  /** In this order: each line sees what those before have done. */
  const table: readonly (readonly [string, number, RegExp])[] = [
    [
      "--help",
      0,
      /^The built-in kubectl[\s\S]*\n {2}set image +Update the image of a pod template\n[\s\S]*kubectl VERB --help\n$/,
    ],
    [
      "help get",
      0,
      /^Display one or many resources.\n[\s\S]*\n {2}-o, --output=VALUE +json, .*\n[\s\S]* -n, --namespace=VALUE /,
    ],
    ["set image deploy -h", 0, /\n {2}kubectl set image \(TYPE NAME \| TYPE\/NAME\) CONTAINER=IMAGE ... \[flags\]\n/],
    ["top pods --help", 0, /\n {2}kubectl top pod \[NAME\] \[flags\]\n/],
    ["set --help", 0, /^Commands:\n {2}set image .*\n {2}set env .*\n[\s\S]*kubectl set VERB --help\n$/],
    ["create --help", 0, /Usage:\n {2}kubectl create -f FILE \[flags\]\n[\s\S]*\n {2}create secret generic /],
    ["gett --help", 1, /^error: unknown command "gett" for "kubectl"\nDid you mean get\?\n/],
    ["help gett", 1, /^error: unknown command "gett" for "kubectl"\nDid you mean get\?\n/],
    ["help drain", 2, /does not know drain\n.*install kubectl/],
    ["-n x", 0, /^The built-in kubectl/],
    ["get nodes", 0, /^No resources found/],
    ["create -f node.yaml", 0, /^node\/n1 created\n$/],
    ["create -f node.yaml", 1, /^Error from server \(AlreadyExists\): nodes "n1" already exists\n$/],
    ["get nodes", 0, /^NAME +STATUS +ROLES +AGE +VERSION\nn1 +\S+ /],
    ["get no n1 -o name", 0, /^node\/n1\n$/],
    ["get node n1 -o jsonpath={.metadata.name}", 0, /^n1$/],
    ["get nodes --no-headers", 0, /^n1 /],
    ["label node n1 colour=green", 0, /^node\/n1 labeled\n$/],
    ["get nodes -l colour=green -o name", 0, /^node\/n1\n$/],
    ["get nodes -l colour=red -o name", 0, /^$/],
    ["annotate nodes n1 note=x", 0, /annotated/],
    ["taint node n1 a=b:NoSchedule", 0, /tainted/],
    ['get node n1 -o jsonpath={.spec.taints[?(@.key=="a")].effect}', 0, /^NoSchedule$/],
    ["taint node n1 a-", 0, /^node\/n1 untainted\n$/],
    ['get node n1 -o jsonpath={.spec.taints[?(@.key=="a")].effect}', 0, /^$/],
    ["cordon n1", 0, /^node\/n1 cordoned/],
    ["describe node n1", 0, /^Name: +n1\n[\s\S]*Unschedulable: +true\n[\s\S]*Events:/],
    ["uncordon n1", 0, /uncordoned/],
    ["run web --image nginx", 0, /^pod\/web created/],
    ["get pods -A", 0, /^NAMESPACE +NAME .*\ndefault +web /],
    ["get pod web -o yaml", 0, /^apiVersion: v1\nkind: Pod\n/],
    [
      "get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[0].image",
      0,
      /^NAME +IMAGE\nweb +nginx\n$/,
    ],
    ["get pod none", 1, /^Error from server \(NotFound\): pods "none" not found\n$/],
    ["get pod none --ignore-not-found", 0, /^$/],
    ["delete pod web", 0, /^pod "web" deleted/],
    ["create namespace space", 0, /^namespace\/space created/],
    ["auth can-i delete nodes", 0, /^yes\n$/],
    ["auth can-i create certificatesigningrequests.certificates.k8s.io", 0, /^yes\n$/],
    ["get nodes --token wrong", 0, /n1/],
    ["config view --minify", 0, /client-key-data: REDACTED/],
    ["config view --raw -o jsonpath={.contexts[0].name}", 0, /^c$/],
    ["config set-cluster lab --server=https://x --kubeconfig new.conf", 0, /Cluster "lab" set/],
    ["config set-credentials me --token abc --kubeconfig new.conf", 0, /User "me" set/],
    ["config set-context lab --cluster=lab --user=me --kubeconfig new.conf", 0, /Context "lab" created/],
    ["config use-context lab --kubeconfig new.conf", 0, /Switched to context "lab"/],
    ["create configmap c --from-literal=a=b --from-literal=d=e", 0, /^configmap\/c created\n$/],
    ["create secret generic s --from-literal=a=b", 0, /^secret\/s created\n$/],
    ["get secret s -o jsonpath={.data.a}", 0, /^Yg==$/],
    [
      "get configmap c none",
      1,
      /^NAME +DATA +AGE\nc +2 +\w+\nError from server \(NotFound\): configmaps "none" not found\n$/,
    ],
    ["get configmap,secret -o name", 0, /^configmap\/kube-root-ca.crt\n|configmap\/c\n[\s\S]*secret\/s\n$/],
    ["create quota q --hard=pods=9", 0, /^resourcequota\/q created/],
    ['patch configmap c --type=merge -p {"data":{"a":"z"}}', 0, /^configmap\/c patched\n$/],
    ['patch configmap c --type=merge -p {"data":{"a":"z"}}', 0, /^configmap\/c patched \(no change\)\n$/],
    ["get configmap c -o jsonpath={.data}", 0, /^{"a":"z","d":"e"}$/],
    [
      "apply -f web.yaml -v=6",
      0,
      /^deployment.apps\/web created\n[\s\S]*POST https:\/\/[^ ]+\/deployments\?\S+ 201 Created in \d+ milli/,
    ],
    ["apply -f web.yaml -v=6", 0, /^deployment.apps\/web unchanged\n(?![\s\S]*PATCH)[\s\S]*GET https/],
    ["set image deployment/web main=nginx:2", 0, /^deployment.apps\/web image updated\n$/],
    ["set image deployment/web main=nginx:2", 0, /^$/],
    ["apply -f web.yaml", 0, /^deployment.apps\/web configured\n$/],
    ["scale deployment web --replicas=0", 0, /^deployment.apps\/web scaled\n$/],
    ["set env deployment web A=b", 0, /env updated/],
    ["set resources deployment web --requests memory=1Gi", 0, /resource requirements updated/],
    ["rollout undo deployment/web --to-revision=9", 1, /unable to find specified revision 9 in history/],
    ["rollout restart deployment web", 0, /restarted/],
    ["expose deployment web --port 80 --cluster-ip None", 0, /^service\/web exposed\n$/],
    ["set selector service web app=other", 0, /^service\/web selector updated/],
    ["describe service web", 0, /Selector: +app=other\n[\s\S]*TargetPort: +80\/TCP\nEndpoints: +\n/],
    ["describe deployment web", 0, /Replicas: +0 desired[\s\S]*Image: +nginx:1.24\n[\s\S]*Requests:\n +memory: +1Gi\n/],
    ["apply --server-side --field-manager=a -f map.yaml", 0, /^configmap\/map serverside-applied\n$/],
    [
      "apply --server-side --field-manager=b -f rival.yaml",
      1,
      /Apply failed with 1 conflict: conflict with "a": .data.x\n/,
    ],
    ["apply --server-side --field-manager=b --force-conflicts -f rival.yaml", 0, /serverside-applied/],
    ["get configmaps --show-labels", 0, /^NAME +DATA +AGE +LABELS\n[\s\S]*map +1 +\w+ +<none>\n/],
    ["delete configmaps --field-selector metadata.name=map", 0, /^configmap "map" deleted\n$/],
    ["rollout status deployment/web --timeout=5", 1, /for "--timeout" flag: time: missing unit in duration "5"\n/],
    ["logs deployment/web --tail=many", 1, /for "--tail" flag: strconv.ParseInt: parsing "many": invalid syntax\n/],
    ["set env deployment/web", 1, /at least one environment variable must be provided/],
    ["set image deployment/web nobody=nginx", 1, /unable to find container named "nobody"\nIt has: main\.\n$/],
    [
      "rollout undo deployment/web --to-revision=99",
      1,
      /See the revisions: kubectl rollout history deployment\/web\n$/,
    ],
    ["delete deployment web --cascade=orphan --wait=false", 0, /^deployment.apps "web" deleted\n$/],
    ["get gizmos", 1, /doesn't have a resource type "gizmos"\nName one, such as pods/],
    ["get podz", 1, /doesn't have a resource type "podz"\nDid you mean pods\?/],
    ["get pods -o foo", 1, /allowed formats are: custom-columns,json,jsonpath,name,wide,yaml\n/],
    ["get pods -o go-template", 2, /does not know -o go-template\n/],
    ["config use-context", 1, /kubectl config use-context needs a name/],
    ["drain n1", 2, /built-in kubectl does not know drain/],
    ["get nodes --sort-by x", 2, /does not know --sort-by of kubectl get, only/],
    ["delete node n1", 0, /deleted/],
  ];
  test("each line does what kubectl does, and says it as kubectl does", async () => {
    for (const [line, code, printed] of table) {
      const { code: ended, stdout, stderr } = await kubectl(line);
      assert.equal(ended, code, `${line}: ${stderr}`);
      assert.match(stdout + stderr, printed, line);
    }
    assert.match(readFileSync(join(root, "new.conf"), "utf8"), /current-context: lab/);
  });

  test("get --watch prints the table, and a row for each change", async () => {
    const stop = new AbortController();
    const options = { env: { KUBECONFIG: kubeconfig }, cwd: root, signal: stop.signal };
    let printed = "";
    const onStdout = (text: string) => {
      printed = text;
    };
    const argv = ["learn", "kubectl", "--", "get", "configmaps", "-l", "kind=watched", "-w"];
    await kubectl("create configmap first");
    await kubectl("label configmap first kind=watched");
    const watching = runInProcess(argv, { ...options, onStdout });
    await untilTrue(() => printed.includes("first"));
    await kubectl("create configmap second-and-longer --from-literal=a=b");
    await kubectl("label configmap second-and-longer kind=watched");
    await kubectl("delete configmap first");
    await untilTrue(() => printed.split("\n").length > 4);
    stop.abort();
    await watching;
    const rows = [
      "NAME    DATA   AGE",
      "first   0      AGE",
      "second-and-longer   1      AGE",
      "first               0      AGE",
    ];
    assert.deepEqual(
      printed
        .replace(/\b\d+s$/gm, "AGE")
        .trimEnd()
        .split("\n"),
      rows,
    );
  });

  const unwatchable: readonly (readonly [string, RegExp])[] = [
    ["get configmaps,secrets -w", /you may only specify a single resource type/],
    ["get configmaps a b -w", /watch is only supported on individual resources and resource collections/],
    ["get configmap none -w", /configmaps "none" not found/],
  ];
  test.each(unwatchable)("%s is refused", async (line, message) => {
    const { code, stderr } = await kubectl(line);
    assert.equal(code, 1);
    assert.match(stderr, message);
  });
});
