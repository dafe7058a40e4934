import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { NodeRestriction } from "../../../../src/cluster/apiserver/admission/noderestriction/node-restriction.js";
import { forbiddenRequest } from "../../../../src/cluster/apiserver/auth/authorization/forbidden.js";
import {
  type RequestInfo,
  requestInfo,
  splitTarget,
} from "../../../../src/cluster/apiserver/endpoints/request-info.js";
import { impersonate } from "../../../../src/cluster/apiserver/server/impersonation.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { StatusError, unauthorized } from "../../../../src/staging/apimachinery/errors.js";
import { createAuthority } from "../../../../src/staging/pki/authority.js";
import type { AdmissionAttributes } from "../../../../src/staging/server/admission/interfaces.js";
import type { Credentials } from "../../../../src/staging/server/authentication/authenticator.js";
import type { UserInfo } from "../../../../src/staging/server/authentication/user.js";
import { SystemRandom } from "../../../../src/util/random.js";
import { type AuthLab, bootstrapTokenSecret, clientCertificate, startAuth } from "./fixtures.js";
import { type RecordedItem, recordedAuth } from "./recorded-auth.js";

/** Recorded requests whose result depends on more than authentication, authorization and NodeRestriction. */
const DECIDED_ELSEWHERE: ReadonlySet<string> = new Set([
  "mirror pod with a service account", // the ServiceAccount plugin comes first
  "mirror pod with a secret volume",
  "mirror pod in a namespace that does not exist", // NamespaceLifecycle comes first
]);

const items = recordedAuth();

describe.skipIf(items === undefined)("permissions as recorded (skipped where the recordings are missing)", () => {
  test("every request of auth.json is allowed, or refused with the recorded message", async () => {
    const replay = await Replay.start();
    const wrong: string[] = [];
    for (const item of items ?? []) {
      const seen = await replay.refusal(item);
      const want = recordedRefusal(item);
      if (!DECIDED_ELSEWHERE.has(item.name) && seen !== want) {
        wrong.push(`${item.name}\n   seen ${seen}\n   want ${want}`);
      }
      await replay.remember(item);
    }
    await replay.lab.auth.close();
    assert.equal(wrong.join("\n"), "");
  });
});

/** `403 <message>`; undefined when the request passed the tested checks */
function recordedRefusal({ response }: RecordedItem): string | undefined {
  if (response.status !== 401 && response.status !== 403) return undefined;
  return `${response.status} ${(response.body as { message?: string }).message}`;
}

class Replay {
  readonly #certificates = new Map<string, Buffer>();

  private constructor(readonly lab: AuthLab) {}

  static async start(): Promise<Replay> {
    const lab = await startAuth({ withKubeadmJoin: false });
    lab.registry.put("secrets", bootstrapTokenSecret("abcdef"));
    return new Replay(lab);
  }

  async refusal(item: RecordedItem): Promise<string | undefined> {
    this.#prepare(item.name);
    try {
      await this.#pass(item);
      return undefined;
    } catch (error) {
      if (error instanceof StatusError && (error.code === 401 || error.code === 403)) {
        return `${error.code} ${error.message}`;
      }
      if (error instanceof StatusError) return undefined;
      throw error;
    }
  }

  async #pass(item: RecordedItem): Promise<void> {
    const { authenticator, authorizer } = this.lab.auth;
    const result = await authenticator.authenticate(await this.#credentials(item));
    if (result.outcome === "rejected") throw unauthorized();
    const user = (await impersonate(item.request.headers, result.user, authorizer))?.user ?? result.user;
    const { path, query } = splitTarget(item.request.path) ?? assert.fail();
    const info = requestInfo(item.request.method, path, new URLSearchParams(query));
    const attributes = { ...info, user };
    const decision = await authorizer.authorize(attributes);
    if (!decision.allowed) throw forbiddenRequest(attributes, decision.reason);
    if (["create", "update", "patch", "delete"].includes(info.verb) && info.isResourceRequest) {
      await this.#admit(item, info, user);
    }
  }

  async #credentials({ as, request }: RecordedItem): Promise<Credentials> {
    const { authorization } = request.headers;
    if (authorization !== undefined) return { authorization };
    const bootstrapId = /^bootstrap token (\w+)$/.exec(as)?.[1];
    const token =
      {
        "bootstrap-token": "abcdef.0123456789abcdef",
        "token with a wrong secret": "abcdef.ffffffffffffffff",
        "token with an unknown id": "zzzzzz.0123456789abcdef",
        "token that is no bootstrap token": "nonsense",
        "token that looks like a JWT": "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln",
        "unknown CA + token": "abcdef.0123456789abcdef",
      }[as] ?? (bootstrapId === undefined ? undefined : `${bootstrapId}.0123456789abcdef`);
    const certificate = await this.#certificate(as);
    return {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(certificate === undefined ? {} : { clientCertificate: certificate }),
    };
  }

  async #certificate(as: string): Promise<Buffer | undefined> {
    const known = this.#certificates.get(as);
    if (known !== undefined) return known;
    const made = await this.#makeCertificate(as);
    if (made !== undefined) this.#certificates.set(as, made);
    return made;
  }

  async #makeCertificate(as: string): Promise<Buffer | undefined> {
    const { ca, clock } = this.lab;
    const node = /^node:(.*)$/.exec(as)?.[1];
    if (node !== undefined) return clientCertificate(ca, `system:node:${node}`, ["system:nodes"]);
    if (as === "admin") return clientCertificate(ca, "admin", ["system:masters"]);
    if (as === "CN=system:node:au-a without O=system:nodes") return clientCertificate(ca, "system:node:au-a", []);
    if (!/unknown CA/.test(as)) return undefined;
    const foreign = await createAuthority({ clock, random: new SystemRandom() }, { commonName: "evil" });
    return clientCertificate(foreign, "evil", ["system:masters"]);
  }

  /** Runs NodeRestriction on the object to store; the merge is good enough for the recorded bodies. */
  async #admit(item: RecordedItem, info: RequestInfo, user: UserInfo): Promise<void> {
    const { request } = item;
    const isView = info.subresource === "" || info.subresource === "status";
    const isUpdate = info.verb === "update" || info.verb === "patch";
    const oldObject = isUpdate ? this.#stored(info) : undefined;
    if (isUpdate && oldObject === undefined) return; // 404, before admission
    const body = request.body as KubeObject | undefined;
    const merged = info.verb === "patch" ? merge(oldObject, body) : body;
    const attributes: AdmissionAttributes = {
      user,
      operation: info.verb === "create" ? "CREATE" : isUpdate ? "UPDATE" : "DELETE",
      group: info.apiGroup,
      resource: info.resource,
      kind: body?.kind ?? "",
      subresource: info.subresource,
      namespace: info.namespace,
      name: info.name,
      object: info.verb === "delete" ? undefined : merged,
      oldObject: isView ? oldObject : undefined,
      dryRun: false,
      warnings: [],
    };
    await new NodeRestriction(this.lab.registry).admit(attributes);
  }

  #stored(info: RequestInfo): KubeObject | undefined {
    return this.lab.registry.store(info.resource).objects.get(`${info.namespace}/${info.name}`);
  }

  /** What the recorder and the controllers did between the requests. */
  #prepare(name: string): void {
    const { registry } = this.lab;
    const pod = (podName: string, nodeName: string, uid: string, volumes: readonly unknown[]): KubeObject => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: podName, namespace: "default", uid },
      spec: { nodeName, serviceAccountName: "default", volumes },
    });
    switch (name) {
      case "is the expired token's secret still there about a second after (the token cleaner deletes it)?":
      case "token without the authentication usage":
        registry.remove("secrets", "kube-system", "bootstrap-token-expird");
        break;
      case "node: create own node again":
        registry.put("nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "au-b" }, spec: {} });
        break;
      case "node: GET other lease":
        registry.put("leases", {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { name: "au-b", namespace: "kube-node-lease" },
        });
        break;
      case "admin may not add the mirror annotation to a plain pod": {
        const volumes = [
          { name: "s", secret: { secretName: "au-mine" } },
          { name: "m", configMap: { name: "au-mine" } },
          { name: "kube-api-access-x", projected: { sources: [{ configMap: { name: "kube-root-ca.crt" } }] } },
        ];
        registry.put("pods", pod("au-pod-a", "au-a", "e8b607e6-ba7b-411a-9253-69b696557d5d", volumes));
        registry.put("pods", pod("au-pod-b", "au-b", "9d7c9d85-3b44-4a08-a8c8-8b3a8e2a5b2f", []));
      }
    }
  }

  /** Stores what the recorded server stored, as far as later requests depend on it. */
  async remember({ name, request, response }: RecordedItem): Promise<void> {
    if (name === "token before it expires") await this.lab.clock.advance(5_000);
    if (name === "token with an unparsable expiration") await this.lab.clock.advance(7_000);
    const { path } = splitTarget(request.path) ?? assert.fail();
    const info = requestInfo(request.method, path, new URLSearchParams());
    const { resource, namespace } = info;
    const kept = ["secrets", "nodes", "leases", "pods"].includes(resource) && info.subresource === "";
    if (!kept || response.status >= 300) return;
    const object = response.body as KubeObject;
    if (request.method === "POST") this.lab.registry.put(resource, object);
    if (request.method === "DELETE") this.lab.registry.remove(resource, namespace || undefined, info.name);
  }
}

function merge(old: KubeObject | undefined, patch: KubeObject | undefined): KubeObject {
  const base = old ?? assert.fail();
  const labels = { ...base.metadata.labels, ...patch?.metadata?.labels };
  const spec = { ...(base["spec"] as object), ...((patch?.["spec"] as object | undefined) ?? {}) };
  return { ...base, metadata: { ...base.metadata, labels }, spec };
}
