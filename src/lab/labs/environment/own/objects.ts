import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { statusMessage } from "../../../../staging/client-go/rest/answers.js";
import type { KubeClient, KubeResponse } from "../../../../staging/client-go/rest/client.js";
import { withQuery } from "../../../../staging/client-go/rest/paths.js";
import type { Clock } from "../../../../util/clock.js";
import { LabError } from "../../../../util/errors.js";
import type { Say } from "../../../../util/i18n/catalogue.js";
import { LocalizedError } from "../../../../util/i18n/message-error.js";
import { certificateRequests, nodeAt, thingsOfNodes } from "./node-objects.js";
import type { FoundRecord, OwnNote, OwnRecord } from "./record.js";

/** The time limit for deletions that finish later, such as a namespace, in ms. */
const GONE_LIMIT_MS = 60_000;
const LOOK_AGAIN_MS = 250;
/**
 * The interval for recording new objects, in ms, and the tolerance for creation times, which the cluster gives in
 * seconds.
 */
const NOTE_AGAIN_MS = 1000;
const SLACK_MS = 5000;

export interface OwnObjectsDeps {
  readonly client: KubeClient;
  readonly wall: Clock;
  readonly say: Say;
}

/** The data of a lab that is known before its start. */
export type OwnClaim = Omit<OwnRecord, "version" | "earlier" | "made" | "aheadMs">;

/** The orphaned objects of a killed lab, such as `nodes/atlas`. */
export interface OrphanedObjects {
  readonly ours: readonly string[];
  /** objects with the lab's names that others created later */
  readonly others: readonly string[];
}

/**
 * The objects that a lab creates on a cluster in use. None may exist before, so an object with such a name that appears
 * while the lab runs belongs to the lab and is removed at its end. The lab records UIDs as objects appear. After a
 * crash, recorded objects and objects of the same age belong to the lab, and no other object is touched.
 */
export class OwnObjects {
  readonly #over = new AbortController();
  #following: Promise<void> = Promise.resolve();

  private constructor(
    readonly deps: OwnObjectsDeps,
    private record: OwnRecord,
    /** undefined: the lab was killed, and these objects are orphaned */
    readonly note: OwnNote | undefined,
    /** Unix ms of the cluster's clock: the end of the time in which the lab may have created objects */
    readonly madeUntilMs: number,
  ) {}

  /**
   * Records the objects that the lab will create.
   * @throws LocalizedError FAILED if one exists
   */
  static async claim(deps: OwnObjectsDeps, claim: OwnClaim, note: OwnNote, signal: AbortSignal): Promise<OwnObjects> {
    const { client, say, wall } = deps;
    const there: string[] = [];
    for (const path of claim.paths) {
      const { status } = await client.request({ method: "GET", path, signal });
      if (status < 300) there.push(nameOf(path));
    }
    if (there.length > 0) {
      throw new LocalizedError("FAILED", say("ownNameTaken", { names: there.join(", ") }), say("ownNameTakenHint"));
    }
    const earlier = (await certificateRequests(client, signal)).map(({ metadata }) => metadata.uid ?? "");
    const { headers } = await client.request({ method: "GET", path: "/version", signal });
    const theirsMs = Date.parse(String(headers["date"] ?? ""));
    const aheadMs = Number.isNaN(theirsMs) ? 0 : theirsMs - wall.now();
    const record: OwnRecord = { version: 1, ...claim, earlier, made: {}, aheadMs };
    await note.write(record);
    return new OwnObjects(deps, record, note, Number.POSITIVE_INFINITY);
  }

  /** The objects of a lab whose process was killed. */
  static of(deps: OwnObjectsDeps, { record, seenAtMs }: FoundRecord): OwnObjects {
    return new OwnObjects(deps, record, undefined, seenAtMs + record.aheadMs + SLACK_MS);
  }

  /** Records new objects while the lab runs. */
  follow(): void {
    const { signal } = this.#over;
    const looking = async () => {
      for (;;) {
        await this.deps.wall.sleep(NOTE_AGAIN_MS, signal);
        // An unreachable cluster is read again at the next interval.
        await this.look().catch(wordsOf);
      }
    };
    this.#following = looking().catch(() => {}); // Usually the lab's end. Objects that are not recorded are identified by their age.
  }

  /** Records the existing objects. @throws LabError CLUSTER_UNREACHABLE, BAD_FILE */
  async look(): Promise<void> {
    const made: Record<string, readonly string[]> = { ...this.record.made };
    let isNew = false;
    for (const path of this.record.paths) {
      const { status, body } = await this.#get(path);
      const uid = status < 300 ? body.metadata.uid : undefined;
      const known = made[path] ?? [];
      if (uid === undefined || known.includes(uid)) continue;
      made[path] = [...known, uid];
      isNew = true;
    }
    if (!isNew) return await this.note?.touch();
    this.record = { ...this.record, made };
    await this.note?.write(this.record);
  }

  /** The objects to remove. @throws LabError CLUSTER_UNREACHABLE */
  async left(): Promise<OrphanedObjects> {
    const [ours, others]: [string[], string[]] = [[], []];
    const paths = new Set([...this.record.paths, ...(await this.#ofNodes())]);
    for (const path of paths) {
      const { status, body } = await this.#get(path);
      if (status < 300) (this.#isOurs(path, body) ? ours : others).push(nameOf(path));
    }
    return { ours, others };
  }

  /** Removes all objects. @returns descriptions of the objects that remain */
  async remove(): Promise<readonly string[]> {
    this.#over.abort();
    await this.#following;
    const left: string[] = [];
    const take = async (path: string) => {
      const why = await this.#delete(path).catch(wordsOf);
      if (why !== undefined) left.push(`${nameOf(path)}: ${why}`);
    };
    for (const path of this.record.paths.filter((one) => nodeAt(one) === undefined)) await take(path);
    const ofNodes = await this.#ofNodes().catch((error: unknown) => {
      left.push(`${this.#nodes.join(", ")}: ${wordsOf(error)}`);
      return [];
    });
    for (const path of ofNodes) await take(path);
    if (left.length === 0) await this.note?.forget();
    return left;
  }

  get #nodes(): readonly string[] {
    return this.record.paths.flatMap((path) => nodeAt(path) ?? []);
  }

  /** Objects of a node that now belongs to others stay. */
  async #ofNodes(): Promise<readonly string[]> {
    const nodes: string[] = [];
    for (const path of this.record.paths) {
      const node = nodeAt(path);
      if (node === undefined) continue;
      const { status, body } = await this.#get(path);
      if (status >= 300 || this.#isOurs(path, body)) nodes.push(node);
    }
    return thingsOfNodes(this.deps.client, nodes, new Set(this.record.earlier));
  }

  #get(path: string): Promise<KubeResponse<KubeObject>> {
    return this.deps.client.request<KubeObject>({ method: "GET", path });
  }

  /** An object found through its node has no recorded path; its node decides. */
  #isOurs(path: string, { metadata }: KubeObject): boolean {
    if (!this.record.paths.includes(path)) return true;
    if (this.record.made[path]?.includes(metadata.uid ?? "") === true) return true;
    return !(Date.parse(metadata.creationTimestamp ?? "") > this.madeUntilMs);
  }

  /** @returns undefined if the object is removed or not the lab's; else the reason why it remains */
  async #delete(path: string): Promise<string | undefined> {
    const { client, wall } = this.deps;
    const { status: found, body } = await this.#get(path);
    if (found === 404 || (found < 300 && !this.#isOurs(path, body))) return undefined;
    if (found < 300 && path.includes("/pods/")) await this.#letGo(path, body);
    const answer = await client.request({ method: "DELETE", path: withQuery(path, { gracePeriodSeconds: 0 }) });
    if (answer.status === 404) return undefined;
    if (answer.status >= 300 && answer.status !== 409) return statusMessage(answer);
    const untilMs = wall.now() + GONE_LIMIT_MS;
    for (;;) {
      const { status } = await this.#get(path);
      if (status === 404) return undefined;
      if (wall.now() > untilMs) return String(status);
      await wall.sleep(LOOK_AGAIN_MS);
    }
  }

  /** Deletes do not remove a pod with a finalizer. */
  async #letGo(path: string, { metadata }: KubeObject): Promise<void> {
    if ((metadata.finalizers ?? []).length === 0) return;
    const contentType = "application/merge-patch+json";
    const body = { metadata: { finalizers: null } };
    await this.deps.client.request({ method: "PATCH", path, contentType, body });
  }
}

/** `nodes/atlas`, `secrets/bootstrap-token-abc123` */
function nameOf(path: string): string {
  return path.split("/").slice(-2).join("/");
}

/** Continues if the cluster is unreachable. @throws errors other than LabError */
function wordsOf(error: unknown): string {
  if (!(error instanceof LabError)) throw error;
  return error.message;
}
