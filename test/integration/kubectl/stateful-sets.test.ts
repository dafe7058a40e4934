import { afterAll, beforeAll, expect, test } from "vitest";
import { KubectlCluster } from "../../support/kubectl-cluster.js";
import { suiteNeeding } from "../../support/requirements.js";

const SERVICE = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web" },
  spec: { clusterIP: "None", selector: { app: "web" }, ports: [{ name: "http", port: 80 }] },
};

function statefulSet(name: string, spec: object = {}) {
  const labels = { app: name };
  const podSpec = { terminationGracePeriodSeconds: 1, containers: [{ name: "app", image: "nginx:1" }] };
  const template = { metadata: { labels }, spec: podSpec };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name },
    spec: { serviceName: name, replicas: 3, selector: { matchLabels: labels }, template, ...spec },
  };
}

suiteNeeding(["kubectl"], "kubectl and StatefulSets", () => {
  let cluster: KubectlCluster;
  const kubectl = (...args: string[]) => cluster.kubectl.run(...args);
  const rolledOut = () => kubectl("rollout", "status", "sts/web", "--timeout=30s");
  const images = () =>
    kubectl(
      "get",
      "pods",
      "-l",
      "app=web",
      "-o",
      "jsonpath={range .items[*]}{.metadata.name} {.spec.containers[0].image};{end}",
    );

  beforeAll(async () => {
    cluster = await KubectlCluster.start(["n1", "n2"]);
    const items = [SERVICE, statefulSet("web")];
    await kubectl("apply", "-f", cluster.kubectl.file("web.json", { apiVersion: "v1", kind: "List", items }));
    await rolledOut();
  });
  afterAll(() => cluster.close());

  test("its pods have ordinals, are ready and were created in their order", async () => {
    expect(await kubectl("get", "sts", "web", "--no-headers")).toMatch(/^web +3\/3 /);
    expect(await images()).toBe("web-0 nginx:1;web-1 nginx:1;web-2 nginx:1;");
    const order = "jsonpath={.items[?(@.reason=='SuccessfulCreate')].message}";
    const messages = await kubectl("get", "events", "--sort-by=.metadata.resourceVersion", "-o", order);
    expect(messages.match(/web-\d/g)).toEqual(["web-0", "web-1", "web-2"]);
  });

  test("each pod has a name of the headless service", async () => {
    const spec = "jsonpath={.spec.hostname}.{.spec.subdomain}";
    expect(await kubectl("get", "pod", "web-1", "-o", spec)).toBe("web-1.web");
    // The name server answers `web-1.web` by these.
    const names = await kubectl("get", "endpoints", "web", "-o", "jsonpath={.subsets[*].addresses[*].hostname}");
    expect(names.split(" ").sort()).toEqual(["web-0", "web-1", "web-2"]);
  });

  test("a partition limits an update", async () => {
    const partition = (value: number) =>
      JSON.stringify({ spec: { updateStrategy: { rollingUpdate: { partition: value } } } });
    await kubectl("patch", "sts/web", "-p", partition(2));
    await kubectl("set", "image", "sts/web", "app=nginx:2");
    expect(await rolledOut()).toContain("partitioned roll out complete: 1 new pods have been updated...");
    expect(await images()).toBe("web-0 nginx:1;web-1 nginx:1;web-2 nginx:2;");
    await kubectl("patch", "sts/web", "-p", partition(0));
    await rolledOut();
    expect(await images()).toBe("web-0 nginx:2;web-1 nginx:2;web-2 nginx:2;");
  });

  test("history, undo, restart", async () => {
    expect(await kubectl("rollout", "history", "sts/web")).toMatch(/^1 .*\n2 /m);
    expect(await kubectl("rollout", "history", "sts/web", "--revision=1")).toContain("Image:\tnginx:1");
    expect(await kubectl("rollout", "undo", "sts/web")).toContain("rolled back");
    await rolledOut();
    expect(await images()).toBe("web-0 nginx:1;web-1 nginx:1;web-2 nginx:1;");
    expect(await kubectl("rollout", "history", "sts/web")).toMatch(/^2 .*\n3 /m);
    expect(await kubectl("rollout", "undo", "sts/web", "--to-revision=3")).toContain("skipped rollback");
    expect(await kubectl("rollout", "restart", "sts/web")).toContain("restarted");
    await rolledOut();
    expect(await kubectl("get", "controllerrevisions", "--no-headers")).toMatch(/ statefulset.apps\/web +4 /);
  });

  test("scale, describe", async () => {
    await kubectl("scale", "sts/web", "--replicas=1");
    await kubectl("wait", "--for=delete", "pod/web-1", "--timeout=20s");
    const described = await kubectl("describe", "sts", "web");
    expect(described).toMatch(/^Replicas: +1 desired \| 1 total$/m);
    expect(described).toMatch(
      /SuccessfulDelete .* statefulset-controller +delete Pod web-1 in StatefulSet web successful$/m,
    );
  });

  test("its pods stay if it is orphaned, and the next set adopts them", async () => {
    const uid = () =>
      kubectl("get", "pod", "web-0", "-o", "jsonpath={.metadata.uid} {.metadata.ownerReferences[0].name}");
    const before = await uid();
    const set = await kubectl("get", "sts", "web", "-o", "json");
    await kubectl("delete", "sts", "web", "--cascade=orphan");
    expect(await uid()).toBe(before.replace("web", ""));
    const { metadata, spec } = JSON.parse(set) as { metadata: object; spec: object };
    const again = { ...statefulSet("web"), metadata: { ...metadata, resourceVersion: "", uid: "" }, spec };
    await kubectl("create", "-f", cluster.kubectl.file("again.json", again));
    await kubectl("wait", "--for=jsonpath={.status.readyReplicas}=1", "sts/web", "--timeout=10s");
    expect(await uid()).toBe(before);
  });

  test("a pod whose claim is not bound stays Pending, and the event says why", async () => {
    const resources = { requests: { storage: "1Gi" } };
    const claim = {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources, storageClassName: "" },
    };
    const body = statefulSet("db", { volumeClaimTemplates: [claim] });
    await kubectl("create", "-f", cluster.kubectl.file("db.json", body));
    await kubectl("wait", "--for=condition=PodScheduled=false", "pod/db-0", "--timeout=10s");
    expect(await kubectl("get", "pvc", "--no-headers")).toMatch(/^data-db-0 +Pending /);
    expect(await kubectl("describe", "pod", "db-0")).toMatch(
      /FailedScheduling .* pod has unbound immediate PersistentVolumeClaims\./,
    );
    await kubectl("delete", "sts", "db");
    expect(await kubectl("get", "pvc", "-o", "name")).toBe("persistentvolumeclaim/data-db-0\n");
  });

  test("the garbage collector takes pods and revisions away with the set", async () => {
    await kubectl("delete", "sts", "web");
    await kubectl("wait", "--for=delete", "pods", "-l", "app=web", "--timeout=20s");
    expect(await kubectl("get", "controllerrevisions,pods", "-l", "app=web", "-o", "name")).toBe("");
  });
});
