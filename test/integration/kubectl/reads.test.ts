import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubectlAtLeast } from "../../support/kubectl.js";
import { KubectlCluster, podManifest } from "../../support/kubectl-cluster.js";
import { suiteNeeding } from "../../support/requirements.js";

suiteNeeding(["kubectl"], "kubectl reads", () => {
  let cluster: KubectlCluster;
  const kubectl = (...args: string[]) => cluster.kubectl.run(...args);

  beforeAll(async () => {
    cluster = await KubectlCluster.start(["n1", "n2"]);
    const items = [
      podManifest("alpha", { labels: { app: "web", tier: "front" } }),
      podManifest("beta", { labels: { app: "web" }, nodeName: "n2" }),
      podManifest("gamma", { labels: { app: "db" }, nodeName: "n1" }),
    ];
    await kubectl("create", "-f", cluster.kubectl.file("pods.json", { apiVersion: "v1", kind: "List", items }));
    await kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=15s");
  });
  afterAll(() => cluster.close());

  describe("get", () => {
    test("every kind that discovery lists, as a table, wide, YAML and JSON", async () => {
      const listed = await kubectl("api-resources", "--verbs=list", "-o", "name", "--cached=false");
      const names = listed.trim().split("\n");
      expect(names).toContain("pods");
      expect(names.length).toBeGreaterThan(30);
      for (const output of [[], ["-o", "wide"], ["-o", "yaml"], ["-o", "json"]]) {
        const { code, stderr } = await cluster.kubectl.try(["get", names.join(","), "-A", ...output]);
        expect(code, `${output.join(" ")} ${stderr}`).toBe(0);
      }
    });

    const rows: [what: string, argv: string[], want: RegExp][] = [
      ["table", ["get", "pod", "beta"], /^NAME +READY +STATUS +RESTARTS +AGE\nbeta +1\/1 +Running +0 +\S+\n$/],
      [
        "wide",
        ["get", "pod", "beta", "-o", "wide"],
        /^beta +1\/1 +Running +0 +\S+ +10\.244\.0\.7 +n2 +<none> +<none>$/m,
      ],
      [
        "YAML",
        ["get", "pod", "beta", "-o", "yaml"],
        /^apiVersion: v1\nkind: Pod\nmetadata:\n[\s\S]*\n {2}nodeName: n2\n/,
      ],
      ["JSON", ["get", "pod", "beta", "-o", "json"], /^\{\n {4}"apiVersion": "v1",\n {4}"kind": "Pod",\n/],
      ["name", ["get", "pod", "-o", "name"], /^pod\/alpha\npod\/beta\npod\/gamma\n$/],
      ["jsonpath", ["get", "pods", "-o", "jsonpath={.items[*].status.phase}"], /^Running Running Running$/],
      ["custom columns", ["get", "pod", "gamma", "-o", "custom-columns=N:.metadata.name"], /^N\ngamma\n$/],
      ["labels", ["get", "pods", "-l", "app=web,tier!=front", "--no-headers"], /^beta +\S+ +Running[^\n]*\n$/],
      ["label set", ["get", "pods", "-l", "app in (db)", "-o", "name"], /^pod\/gamma\n$/],
      ["show labels", ["get", "pod", "alpha", "--show-labels"], /app=web,tier=front\n$/],
      ["label columns", ["get", "pods", "-L", "app", "--no-headers"], /^alpha .* web\nbeta .* web\ngamma .* db\n$/],
      [
        "fields",
        ["get", "pods", "--field-selector", "spec.nodeName=n2,status.phase=Running", "-o", "name"],
        /pod\/beta\n/,
      ],
      ["all namespaces", ["get", "pods", "-A"], /^NAMESPACE +NAME .*\ndefault +alpha /],
      ["order", ["get", "pods", "--sort-by=.spec.nodeName", "-o", "name"], /^[\s\S]*pod\/beta\n$/],
      ["two kinds", ["get", "pods,nodes"], /^pod\/alpha [\s\S]*^node\/n1 +Ready /m],
      ["all", ["get", "all"], /^pod\/alpha [\s\S]*^service\/kubernetes +ClusterIP +10\.96\.0\.1 +<none> +443\/TCP/m],
      ["in pieces", ["get", "pods", "--chunk-size=1", "-o", "name"], /^pod\/alpha\npod\/beta\npod\/gamma\n$/],
      ["nodes wide", ["get", "no", "-o", "wide"], /^n1 +Ready +<none> +\S+ +v1\.25\.0 +127\.0\.0\.1 /m],
      ["leases", ["get", "leases", "-n", "kube-node-lease"], /^n1 +n1 +\S+\nn2 +n2 +\S+$/m],
      ["events", ["get", "events"], /Scheduled +pod\/alpha +Successfully assigned default\/alpha to n[12]/],
      ["raw", ["get", "--raw", "/api/v1/namespaces/default/pods?limit=1"], /"remainingItemCount":2/],
      ["health", ["get", "--raw", "/readyz?verbose"], /readyz check passed/],
    ];
    for (const [what, argv, want] of rows) {
      test(what, async () => {
        expect(await kubectl(...argv)).toMatch(want);
      });
    }

    test("missing objects", async () => {
      const pod = await cluster.kubectl.try(["get", "pod", "nope"]);
      expect([pod.code, pod.stderr]).toEqual([1, 'Error from server (NotFound): pods "nope" not found\n']);
      const kind = await cluster.kubectl.try(["get", "nopes"]);
      expect([kind.code, kind.stderr]).toEqual([1, 'error: the server doesn\'t have a resource type "nopes"\n']);
      expect(await kubectl("get", "pod", "nope", "--ignore-not-found")).toBe("");
    });
  });

  describe("get -w", () => {
    const watches: [what: string, argv: string[], want: RegExp][] = [
      ["a table", ["get", "pods", "-w"], /^gamma [\s\S]*^gamma /m],
      ["one object", ["get", "pod", "gamma", "-w"], /^gamma [\s\S]*^gamma /m],
      ["YAML", ["get", "pods", "-w", "-o", "yaml"], /changed: watch-2/],
      ["only what changes", ["get", "pods", "--watch-only", "-o", "name"], /^pod\/gamma\n/],
      ["all namespaces", ["get", "pods", "-A", "-w", "-o", "name"], /pod\/gamma\n[\s\S]*pod\/gamma\n/],
    ];
    for (const [i, [what, argv, want]] of watches.entries()) {
      test(what, async () => {
        const stop = new AbortController();
        // A watch that has begun shows the next change: changes go on until one is seen.
        const printed = cluster.kubectl.try(argv, {
          signal: stop.signal,
          onOutput: (stdout) => want.test(stdout) && stop.abort(),
        });
        const ended = printed.then(
          () => stop.abort(),
          () => stop.abort(),
        );
        while (!stop.signal.aborted) {
          await kubectl("label", "pod", "gamma", "--overwrite", `changed=watch-${i}`);
          await kubectl("label", "pod", "gamma", "changed-");
        }
        await ended;
        expect((await printed).stdout).toMatch(want);
      });
    }
  });

  describe("describe", () => {
    test("a node", async () => {
      const text = await kubectl("describe", "node", "n2");
      expect(text).toMatch(/^Name: +n2$/m);
      expect(text).toMatch(/^Taints: +<none>\nUnschedulable: +false\nLease:\n +HolderIdentity: +n2$/m);
      expect(text).toMatch(/^ +Ready +True .*KubeletReady +kubelet is posting ready status$/m);
      expect(text).toMatch(
        /^Capacity:\n +cpu: +4\n +ephemeral-storage: +100Gi\n +hugepages-1Gi: +0\n +hugepages-2Mi: +0\n +memory: +8Gi\n +pods: +110$/m,
      );
      expect(text).toMatch(/^PodCIDR: +10\.244\.\d+\.0\/24$/m);
      expect(text).toMatch(/^ +default +beta +0 \(0%\)/m);
      expect(text).toMatch(/^ +cpu +0 \(0%\) +0 \(0%\)$/m);
      expect(text).toMatch(/^ +Normal +NodeReady .*kubelet.* Node n2 status is now: NodeReady$/m);
    });

    test("a node, once the lifecycle controller has looked at it (every 5 s)", async (context) => {
      if (!kubectlAtLeast(22)) return context.skip("kubectl asks only for the kubelet's own events before 1.22");
      const wanted = /^ +Normal +RegisteredNode .*Node n2 event: Registered Node n2 in Controller$/m;
      await expect.poll(() => kubectl("describe", "node", "n2"), { timeout: 15_000, interval: 500 }).toMatch(wanted);
    });

    test("a pod", async () => {
      const text = await kubectl("describe", "pod", "alpha");
      expect(text).toMatch(/^Status: +Running$/m);
      expect(text).toMatch(/^Labels: +app=web\n +tier=front$/m);
      expect(text).toMatch(
        /^ +\/var\/run\/secrets\/kubernetes\.io\/serviceaccount from kube-api-access-\S{5} \(ro\)$/m,
      );
      expect(text).toMatch(/^ {2}PodScheduled +True *$/m);
      expect(text).toMatch(/^QoS Class: +BestEffort$/m);
      expect(text).toMatch(/^Tolerations: +node\.kubernetes\.io\/not-ready:NoExecute op=Exists for 300s$/m);
      expect(text).toMatch(/^ +Normal +Scheduled .*default-scheduler +Successfully assigned default\/alpha to n[12]$/m);
    });

    for (const what of ["namespace/default", "service/kubernetes", "serviceaccount/default", "priorityclass"]) {
      test(what, async () => {
        expect(await kubectl("describe", what)).toMatch(/^Name: /m);
      });
    }
    for (const what of ["clusterrole/view", "lease/n1 -n kube-node-lease", "csinodes", "pods -A"]) {
      test(what, async () => {
        expect((await cluster.kubectl.try(["describe", ...what.split(" ")])).code).toBe(0);
      });
    }
  });

  describe("the server's identity", () => {
    const rows: [argv: string[], want: RegExp][] = [
      [["api-resources"], /^pods +po +v1 +true +Pod$/m],
      [
        ["api-resources", "--namespaced=false", "--api-group=", "-o", "name"],
        /^componentstatuses\nnamespaces\nnodes\n/,
      ],
      [["api-resources", "-o", "wide"], /^pods .*\bPod\b +\[?create[, ]delete[, ]deletecollection[, ]get[, ]list/m],
      [["api-versions"], /^coordination\.k8s\.io\/v1\n[\s\S]*^v1\n$/m],
      [["version"], /v1\.25\.0\+kubelab/],
      [["version", "-o", "json"], /"serverVersion": \{/],
      [["cluster-info"], /is running at .*https:\/\/127\.0\.0\.1:\d+/],
      [["config", "view"], /certificate-authority-data: DATA\+OMITTED/],
      [["config", "current-context"], /^test\n$/],
      // kubectl explains out of the OpenAPI v3 documents from 1.27 on, and out of the v2 document before.
      [["explain", "pod.spec.containers"], /^(FIELD|RESOURCE): +containers[\s\S]*^ +image\s+<string>$/m],
      [["explain", "pod", "--recursive"], /restartPolicy\s+<string>/],
      [["explain", "lease.spec"], /renewTime/],
    ];
    for (const [argv, want] of rows) {
      test(argv.join(" "), async () => {
        expect(await kubectl(...argv)).toMatch(want);
      });
    }

    test("events of its own command", async (context) => {
      if (!kubectlAtLeast(26)) return context.skip("kubectl has no events command before 1.26");
      expect(await kubectl("events", "--for", "pod/alpha")).toMatch(/Scheduled/);
    });

    test("cluster-info dump", async () => {
      const { code, stdout, stderr } = await cluster.kubectl.try(["cluster-info", "dump", "-o", "json"]);
      // It reads the pods' logs too, which only a kubelet has.
      expect([0, 1], stderr).toContain(code);
      expect(stdout).toContain('"kind": "NodeList"');
    });

    test("proxy", async () => {
      const stop = new AbortController();
      const text = await new Promise<string>((resolve, reject) => {
        const onOutput = (stdout: string) => {
          const address = /127\.0\.0\.1:\d+/.exec(stdout)?.[0];
          if (address === undefined) return;
          fetch(`http://${address}/api/v1/namespaces/default/pods/alpha`)
            .then((answer) => answer.text())
            .then(resolve, reject)
            .finally(() => stop.abort());
        };
        cluster.kubectl.try(["proxy", "--port=0"], { signal: stop.signal, onOutput }).catch(reject);
      });
      expect(JSON.parse(text)).toMatchObject({ kind: "Pod", metadata: { name: "alpha" } });
    });
  });
});
