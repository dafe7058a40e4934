import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { V1Pod } from "../staging/apimachinery/api/pod.js";
import type { KubeClient } from "../staging/client-go/rest/client.js";
import { collectionPath, objectPath, PODS } from "../staging/client-go/rest/paths.js";
import { LabError } from "../util/errors.js";
import { describeFileError, makeFolder } from "../util/files.js";

const NAMESPACE = "default";
/** Ends at once when it is asked to. */
const SERVE = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"];

/**
 * What a inspector's keys do behind the kubelet's back: pods in the API, as an administrator, and manifests in a folder that
 * is the inspector's own.
 */
export class PodFixture {
  #podCount = 0;
  #fileCount = 0;
  #changeCount = 0;

  private constructor(
    readonly deps: { readonly admin: KubeClient; readonly nodeName: string },
    /** of manifests */
    readonly folder: string,
    /** false: the learner's folder, in which nothing is written */
    readonly isOwnFolder: boolean,
  ) {}

  /** @param manifestDir the learner's; undefined: a folder of the inspector's own below `root` */
  static async open(
    deps: { readonly admin: KubeClient; readonly nodeName: string },
    manifestDir: string | undefined,
    root: string,
  ): Promise<PodFixture> {
    if (manifestDir !== undefined) return new PodFixture(deps, manifestDir, false);
    const folder = join(root, "manifests");
    await makeFolder(folder);
    return new PodFixture(deps, folder, true);
  }

  /** Creates a pod that is bound to this node already. */
  async createPod(signal: AbortSignal): Promise<string> {
    this.#podCount += 1;
    const name = `pod-${this.#podCount}`;
    const path = collectionPath({ ...PODS, namespace: NAMESPACE });
    const body = podManifest(name, { nodeName: this.deps.nodeName });
    await this.deps.admin.expect({ method: "POST", path, body, signal });
    return `pod ${NAMESPACE}/${name} has been created`;
  }

  /** Changes a pod through the API so often, in one go. */
  async changePod({ metadata: { namespace, name } }: V1Pod, times: number, signal: AbortSignal): Promise<string> {
    const path = objectPath({ ...PODS, namespace }, name);
    for (let i = 0; i < times; i++) {
      this.#changeCount += 1;
      const body = { metadata: { labels: { "kubelab/change": String(this.#changeCount) } } };
      await this.deps.admin.expect({ method: "PATCH", path, body, contentType: MERGE_PATCH, signal });
    }
    return `pod ${namespace}/${name} has been changed${times === 1 ? "" : ` ${times} times`}`;
  }

  async deletePod({ metadata: { namespace, name } }: V1Pod, signal: AbortSignal): Promise<string> {
    const path = objectPath({ ...PODS, namespace }, name);
    await this.deps.admin.expect({ method: "DELETE", path, signal });
    return `pod ${namespace}/${name}: its deletion has been asked for`;
  }

  /** @param name of the pod; default: the next number */
  async writeManifest(name = `web-${this.#fileCount + 1}`): Promise<string> {
    this.#fileCount += 1;
    const file = `${String(this.#fileCount).padStart(2, "0")}-${name}.json`;
    await this.#write(file, JSON.stringify(podManifest(name), null, 2));
    return `${file} has been written, with a pod named ${name}`;
  }

  /** A changed file is another pod: its UID follows from its content. */
  async changeManifest(): Promise<string> {
    const file = await this.#newest();
    this.#changeCount += 1;
    const env = [{ name: "CHANGE", value: String(this.#changeCount) }];
    await this.#write(file, JSON.stringify(podManifest(nameIn(file), {}, { env }), null, 2));
    return `${file} has been changed: another environment`;
  }

  async breakManifest(): Promise<string> {
    const file = await this.#newest();
    await this.#write(file, JSON.stringify(podManifest(nameIn(file)), null, 2).slice(0, 40));
    return `${file} is half written now`;
  }

  async removeManifest(): Promise<string> {
    const file = await this.#newest();
    await rm(join(this.folder, file), { force: true });
    return `${file} has been removed`;
  }

  async #newest(): Promise<string> {
    const file = (await readdir(this.folder)).sort().at(-1);
    if (file !== undefined) return file;
    throw new LabError("USAGE", "there is no manifest in the folder", "Write one first: key n.");
  }

  async #write(file: string, text: string): Promise<void> {
    try {
      await writeFile(join(this.folder, file), text);
    } catch (error) {
      const message = `cannot write ${join(this.folder, file)}: ${describeFileError(error)}`;
      throw new LabError("BAD_FILE", message, "Run the command again.", { cause: error });
    }
  }
}

const MERGE_PATCH = "application/merge-patch+json";

function nameIn(file: string): string {
  return file.replace(/^\d+-/, "").replace(/\.json$/, "");
}

function podManifest(name: string, spec: object = {}, container: object = {}) {
  const containers = [{ name: "app", image: "busybox:1.36", command: SERVE, ...container }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { containers, ...spec } };
}
