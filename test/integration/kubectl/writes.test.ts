import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubectlAtLeast } from "../../support/kubectl.js";
import { KubectlCluster, podManifest } from "../../support/kubectl-cluster.js";
import { suiteNeeding } from "../../support/requirements.js";

const LAST_APPLIED = "{.metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration}";

suiteNeeding(["kubectl"], "kubectl writes", () => {
  let cluster: KubectlCluster;
  const kubectl = (...args: string[]) => cluster.kubectl.run(...args);
  const field = (what: string, path: string) => kubectl("get", what, "-o", `jsonpath={${path}}`);
  const file = (name: string, content: unknown) => cluster.kubectl.file(name, content);

  beforeAll(async () => {
    cluster = await KubectlCluster.start(["n1"]);
  });
  afterAll(() => cluster.close());

  describe("create", () => {
    test("-f: one file, several documents, generateName, a name that is taken", async () => {
      const yaml = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {a: "1"}\n`;
      const path = file("two.yaml", `${yaml("first")}---\n${yaml("second")}`);
      expect(await kubectl("create", "-f", path)).toBe("configmap/first created\nconfigmap/second created\n");
      const again = await cluster.kubectl.try(["create", "-f", path]);
      expect(again.code).toBe(1);
      expect(again.stderr).toContain('Error from server (AlreadyExists): error when creating "');
      expect(again.stderr).toContain('configmaps "second" already exists');
      const metadata = { generateName: "gen-" };
      const generated = file("gen.json", { apiVersion: "v1", kind: "ConfigMap", metadata });
      expect(await kubectl("create", "-f", generated)).toMatch(/^configmap\/gen-[a-z0-9]{5} created\n$/);
    });

    test("-f with unknown fields, invalid values, another version", async () => {
      const { spec, ...head } = podManifest("bad");
      const rows: [object: object, want: RegExp][] = [
        [{ ...head, spec: { ...spec, wrong: 1 } }, /unknown field "(spec\.)?wrong"/],
        [{ ...head, spec: { ...spec, containers: [] } }, /spec\.containers: Required value/],
        [{ ...head, metadata: { name: "Bad_Name" }, spec }, /metadata\.name: Invalid value: "Bad_Name"/],
        [{ ...head, apiVersion: "v9", spec }, /no matches for kind "Pod" in version "v9"/],
        [{ ...head, kind: "Nothing", spec }, /no matches for kind "Nothing" in version "v1"/],
      ];
      for (const [i, [object, want]] of rows.entries()) {
        // Before 1.25 unknown fields were looked for by kubectl itself, in the OpenAPI v2 document.
        if (i === 0 && !kubectlAtLeast(25)) continue;
        const { code, stderr } = await cluster.kubectl.try(["create", "-f", file(`bad-${i}.json`, object)]);
        expect([code, stderr]).toEqual([1, expect.stringMatching(want)]);
      }
      expect(await kubectl("get", "pod", "bad", "--ignore-not-found")).toBe("");
    });

    const rows: [argv: string[], what: string, path: string, want: RegExp][] = [
      [["configmap", "cm", "--from-literal=a=b"], "configmap/cm", ".data.a", /^b$/],
      [["secret", "generic", "sec", "--from-literal=a=b"], "secret/sec", ".data.a", /^Yg==$/],
      [["namespace", "team"], "namespace/team", ".status.phase", /^Active$/],
      [["serviceaccount", "robot"], "serviceaccount/robot", ".metadata.name", /^robot$/],
      [
        ["clusterrolebinding", "readers", "--clusterrole=view", "--user=jane", "--group=staff"],
        "clusterrolebinding/readers",
        ".subjects[*].name",
        /^jane staff$/,
      ],
      [["clusterrole", "lister", "--verb=list", "--resource=pods"], "clusterrole/lister", ".rules[0].verbs", /list/],
      [["role", "r", "--verb=get", "--resource=pods"], "role/r", ".rules[0].resources", /pods/],
      [["rolebinding", "rb", "--role=r", "--user=jane"], "rolebinding/rb", ".roleRef.name", /^r$/],
      [["service", "clusterip", "svc", "--tcp=80:8080"], "service/svc", ".spec.ports[0].targetPort", /^8080$/],
      [["priorityclass", "high", "--value=1000"], "priorityclass/high", ".value", /^1000$/],
      [["deployment", "dep", "--image=busybox:1.35"], "deployment/dep", ".spec.replicas", /^1$/],
      [["poddisruptionbudget", "pdb", "--min-available=1", "--selector=a=b"], "pdb/pdb", ".spec.minAvailable", /^1$/],
    ];
    for (const [argv, what, path, want] of rows) {
      test(argv.join(" "), async (context) => {
        if (argv[0] === "poddisruptionbudget" && !kubectlAtLeast(21)) return context.skip("policy/v1beta1 before 1.21");
        expect(await kubectl("create", ...argv)).toMatch(/ created\n$/);
        expect(await field(what, path)).toMatch(want);
      });
    }

    test("token: signed, and the server knows its bearer", async (context) => {
      if (!kubectlAtLeast(24)) return context.skip("kubectl has no create token before 1.24");
      const token = (await kubectl("create", "token", "default", "--duration=10m")).trim();
      expect(token.split(".")).toHaveLength(3);
      const { server, caPem = "" } = cluster.controlPlane.admin;
      const bearer = file("bearer.json", {
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster: { server, "certificate-authority-data": base64(caPem) } }],
        users: [{ name: "u", user: { token } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      });
      const { code, stderr } = await cluster.kubectl.try(["--kubeconfig", bearer, "get", "pods"]);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('User "system:serviceaccount:default:default" cannot list resource "pods"'),
      ]);
    });

    test("--dry-run=server writes nothing", async () => {
      expect(await kubectl("create", "configmap", "dry", "--dry-run=server")).toBe(
        "configmap/dry created (server dry run)\n",
      );
      expect(await kubectl("get", "configmap", "dry", "--ignore-not-found")).toBe("");
    });
  });

  describe("run, wait, delete", () => {
    test("run and wait until it is Ready; delete waits until it is gone", async () => {
      expect(await kubectl("run", "runner", "--image=busybox:1.35")).toBe("pod/runner created\n");
      expect(await kubectl("wait", "--for=condition=Ready", "pod/runner", "--timeout=15s")).toContain("condition met");
      if (kubectlAtLeast(23)) {
        expect(await kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/runner")).toContain(
          "condition met",
        );
      }
      expect(await kubectl("delete", "pod", "runner")).toContain('pod "runner" deleted');
      expect(await kubectl("get", "pod", "runner", "--ignore-not-found")).toBe("");
    });

    test("run --restart=Never ends Succeeded, and is deleted at once", async () => {
      await kubectl("run", "job", "--image=busybox:1.35", "--restart=Never", "--", "true");
      if (kubectlAtLeast(23))
        await kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/job", "--timeout=15s");
      expect(await kubectl("delete", "pod", "job")).toContain("deleted");
    });

    test("wait that times out, wait for a deletion", async () => {
      await kubectl("create", "-f", file("w.json", podManifest("waited")));
      const { code, stderr } = await cluster.kubectl.try([
        "wait",
        "--for=condition=Nope",
        "pod/waited",
        "--timeout=1s",
      ]);
      expect([code, stderr]).toEqual([1, "error: timed out waiting for the condition on pods/waited\n"]);
      await kubectl("delete", "pod", "waited", "--wait=false");
      await kubectl("wait", "--for=delete", "pod/waited", "--timeout=15s");
      expect(await kubectl("get", "pod", "waited", "--ignore-not-found")).toBe("");
    });

    test("delete --force, -l, --all, a namespace with all that is in it", async () => {
      const items = ["d1", "d2", "d3"].map((name) => podManifest(name, { labels: { d: name } }));
      const path = file("d.json", { apiVersion: "v1", kind: "List", items });
      await kubectl("create", "-f", path);
      const forced = await cluster.kubectl.try(["delete", "pod", "d1", "--force", "--grace-period=0"]);
      expect([forced.code, forced.stdout]).toEqual([0, expect.stringMatching(/^pod "d1" force deleted/)]);
      expect(await kubectl("delete", "pods", "-l", "d=d2")).toMatch(/^pod "d2" deleted/);
      expect(await kubectl("delete", "pods", "-l", "d=nobody")).toBe("No resources found\n");
      expect(await kubectl("delete", "pods", "--all", "--now")).toMatch(/pod "d3" deleted/);
      await kubectl("create", "namespace", "full");
      await kubectl("create", "configmap", "inside", "-n", "full");
      expect(await kubectl("delete", "namespace", "full")).toContain('namespace "full" deleted');
      const gone = await cluster.kubectl.try(["get", "configmap", "inside", "-n", "full"]);
      expect(gone.stderr).toContain("NotFound");
    });

    test("missing objects", async () => {
      const { code, stderr } = await cluster.kubectl.try(["delete", "pod", "nope"]);
      expect([code, stderr]).toEqual([1, 'Error from server (NotFound): pods "nope" not found\n']);
      expect(await kubectl("delete", "pod", "nope", "--ignore-not-found")).toBe("");
    });
  });

  describe("apply", () => {
    const manifest = (labels: Record<string, string>, data: Record<string, string>) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "applied", labels },
      data,
    });

    test("creates, keeps, changes, removes omitted fields; keeps fields of other managers", async () => {
      const apply = (labels: Record<string, string>, data: Record<string, string>) =>
        kubectl("apply", "-f", file("apply.json", manifest(labels, data)));
      expect(await apply({ a: "1", b: "1" }, { x: "1", y: "1" })).toBe("configmap/applied created\n");
      expect(await apply({ a: "1", b: "1" }, { x: "1", y: "1" })).toBe("configmap/applied unchanged\n");
      await kubectl("label", "configmap", "applied", "other=1");
      expect(await apply({ a: "2" }, { x: "2" })).toBe("configmap/applied configured\n");
      expect(JSON.parse(await field("cm/applied", ".metadata.labels"))).toEqual({ a: "2", other: "1" });
      expect(JSON.parse(await field("cm/applied", ".data"))).toEqual({ x: "2" });
      const last = JSON.parse(await kubectl("get", "cm/applied", "-o", `jsonpath=${LAST_APPLIED}`));
      expect(last).toMatchObject({ data: { x: "2" }, metadata: { labels: { a: "2" }, namespace: "default" } });
    });

    test("a pod: its image may change, its containers merge by name", async () => {
      const path = file("pod.json", podManifest("ap"));
      await kubectl("apply", "-f", path);
      const { spec, ...head } = podManifest("ap");
      const [container] = spec.containers;
      const changed = { ...head, spec: { ...spec, containers: [{ ...container, image: "busybox:1.36" }] } };
      expect(await kubectl("apply", "-f", file("pod2.json", changed))).toBe("pod/ap configured\n");
      expect(await field("pod/ap", ".spec.containers[*].image")).toBe("busybox:1.36");
      const refused = { ...head, spec: { ...spec, restartPolicy: "Never" } };
      const { code, stderr } = await cluster.kubectl.try(["apply", "-f", file("pod3.json", refused)]);
      expect([code, stderr]).toEqual([1, expect.stringContaining("pod updates may not change fields other than")]);
    });

    test("--server-side, --dry-run=server, diff, view-last-applied, --prune", async () => {
      const path = file("side.json", { ...manifest({}, { z: "1" }), metadata: { name: "side" } });
      expect(await kubectl("apply", "--server-side", "-f", path)).toBe("configmap/side serverside-applied\n");
      const next = file("next.json", { ...manifest({}, { z: "2" }), metadata: { name: "side" } });
      const difference = await cluster.kubectl.try(["diff", "-f", next]);
      expect([difference.code, difference.stdout]).toEqual([1, expect.stringMatching(/^-\s+z: "1"\n\+\s+z: "2"$/m)]);
      expect(await kubectl("apply", "--dry-run=server", "-f", next)).toContain("configured (server dry run)");
      expect(await field("cm/side", ".data.z")).toBe("1");
      expect(await kubectl("apply", "view-last-applied", "cm/applied")).toContain("name: applied");
    });
  });

  describe("changes", () => {
    beforeAll(async () => {
      await kubectl("create", "configmap", "ch", "--from-literal=a=1");
    });

    const rows: [argv: string[], said: string, path: string, want: string][] = [
      [["label", "cm", "ch", "l=1"], "configmap/ch labeled\n", ".metadata.labels.l", "1"],
      [["label", "cm", "ch", "l=2", "--overwrite"], "configmap/ch labeled\n", ".metadata.labels.l", "2"],
      [["annotate", "cm", "ch", "n=1"], "configmap/ch annotated\n", ".metadata.annotations.n", "1"],
      [["patch", "cm", "ch", "-p", '{"data":{"s":"1"}}'], "configmap/ch patched\n", ".data.s", "1"],
      [["patch", "cm", "ch", "--type=merge", "-p", '{"data":{"a":null}}'], "configmap/ch patched\n", ".data.a", ""],
      [
        ["patch", "cm", "ch", "--type=json", "-p", '[{"op":"add","path":"/data/j","value":"1"}]'],
        "configmap/ch patched\n",
        ".data.j",
        "1",
      ],
      [["patch", "cm", "ch", "-p", '{"data":{"s":"1"}}'], "configmap/ch patched (no change)\n", ".data.s", "1"],
    ];
    for (const [argv, said, path, want] of rows) {
      test(argv.join(" "), async () => {
        // Before 1.28 the message had "annotate".
        expect((await kubectl(...argv)).replace("annotate\n", "annotated\n")).toBe(said);
        expect(await field("cm/ch", path)).toBe(want);
      });
    }

    test("labels: taken without --overwrite, removed with a minus", async () => {
      const { code, stderr } = await cluster.kubectl.try(["label", "cm", "ch", "l=3"]);
      expect([code, stderr]).toEqual([1, expect.stringContaining("already has a value (2), and --overwrite is false")]);
      await kubectl("label", "cm", "ch", "l-");
      expect(await field("cm/ch", ".metadata.labels.l")).toBe("");
    });

    test("a patch that does not fit", async () => {
      const bad = await cluster.kubectl.try([
        "patch",
        "cm",
        "ch",
        "--type=json",
        "-p",
        '[{"op":"remove","path":"/no"}]',
      ]);
      expect([bad.code, bad.stderr]).toEqual([1, expect.stringMatching(/rejected our request|request is invalid/)]);
    });

    test("replace: as read, stale, --force", async () => {
      const read = JSON.parse(await kubectl("get", "cm", "ch", "-o", "json")) as { data: object };
      const path = file("replace.json", { ...read, data: { r: "1" } });
      expect(await kubectl("replace", "-f", path)).toBe("configmap/ch replaced\n");
      expect(JSON.parse(await field("cm/ch", ".data"))).toEqual({ r: "1" });
      const stale = await cluster.kubectl.try(["replace", "-f", path]);
      expect([stale.code, stale.stderr]).toEqual([1, expect.stringContaining("the object has been modified")]);
      expect(await kubectl("replace", "--force", "-f", path)).toMatch(/deleted[\s\S]*configmap\/ch replaced/);
    });

    test("edit with a scripted editor: a change, no change, one that the server refuses", async () => {
      const edit = (script: string) => {
        const editor = join(cluster.kubectl.home, "editor.sh");
        writeFileSync(editor, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
        return cluster.kubectl.try(["edit", "cm", "ch"], { env: { EDITOR: editor, KUBE_EDITOR: editor } });
      };
      const changed = await edit(`cp "$1" seen.yaml; sed -i 's/r: "1"/r: edited/' "$1"`);
      expect([changed.code, changed.stdout]).toEqual([0, "configmap/ch edited\n"]);
      expect(readFileSync(join(cluster.kubectl.home, "seen.yaml"), "utf8")).toContain("# Please edit the object below");
      expect(await field("cm/ch", ".data.r")).toBe("edited");
      expect((await edit("true")).stderr).toContain("Edit cancelled, no changes made");
      const refused = await edit(`[ -e twice ] || sed -i 's/^data:$/data:\\n  "bad key": x/' "$1"; touch twice`);
      expect(existsSync(join(cluster.kubectl.home, "twice"))).toBe(true);
      expect(`${refused.stdout}${refused.stderr}`).toContain('configmaps "ch" is invalid');
      expect(refused.code).toBe(1);
    });

    test("set, scale, rollout work on stored objects", async () => {
      await kubectl("create", "deployment", "app", "--image=busybox:1.35");
      expect(await kubectl("set", "image", "deployment/app", "busybox=busybox:1.36")).toContain("image updated");
      expect(await field("deployment/app", ".spec.template.spec.containers[0].image")).toBe("busybox:1.36");
      expect(await kubectl("scale", "deployment/app", "--replicas=3")).toContain("deployment.apps/app scaled");
      expect(await field("deployment/app", ".spec.replicas")).toBe("3");
      expect(await kubectl("scale", "deployment/app", "--current-replicas=3", "--replicas=0")).toContain("scaled");
      expect(await field("deployment/app", ".spec.replicas")).toBe("0");
      const seen = JSON.parse(await kubectl("get", "deployment", "app", "--subresource=scale", "-o", "json"));
      expect(seen).toMatchObject({ kind: "Scale", spec: {}, status: { replicas: 0, selector: "app=app" } });
    });
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
