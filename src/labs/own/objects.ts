import type { KubeObject } from "../../apimachinery/api/meta.js";
import { statusMessage } from "../../client-go/rest/answers.js";
import type { KubeClient, KubeResponse } from "../../client-go/rest/client.js";
import { withQuery } from "../../client-go/rest/paths.js";
import type { Say } from "../../i18n/catalogue.js";
import { LocalizedError } from "../../i18n/message-error.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { certificateRequests, nodeAt, thingsOfNodes } from "./node-objects.js";
import type { FoundRecord, OwnNote, OwnRecord } from "./record.js";

/** What goes away by itself in the end, as a namespace, may take so long. ms */
const GONE_LIMIT_MS = 60_000;
const LOOK_AGAIN_MS = 250;
/** How often what was made is noted, ms; and how much later the cluster may say that it was, by a clock in seconds. */
const NOTE_AGAIN_MS = 1000;
const SLACK_MS = 5000;

export interface OwnObjectsDeps {
  readonly client: KubeClient;
  readonly wall: Clock;
  readonly say: Say;
}

/** What is known of a lab before it begins. */
export type OwnClaim = Omit<OwnRecord, "version" | "earlier" | "made" | "aheadMs">;

/** What a killed lab has left, in words such as `nodes/atlas`. */
export interface Leftovers {
  readonly ours: readonly string[];
  /** of a name that the lab uses, but made by somebody else since */
  readonly others: readonly string[];
}

/**
 * What a lab makes on a cluster that is in use. Nothing of it may be there before, so whatever has one of these names while the
 * lab goes on is the lab's, and is taken away at its end. It is noted as it is made: after a crash what has been noted is
 * the lab's, and so is what is as old; whatever else has such a name is somebody else's. Nothing else is ever touched.
 */
export class OwnObjects {
  readonly #over = new AbortController();
  #following: Promise<void> = Promise.resolve();

  private constructor(
    readonly deps: OwnObjectsDeps,
    private record: OwnRecord,
    /** undefined: the lab was killed, this is what it has left */
    readonly note: OwnNote | undefined,
    /** Unix ms of the cluster's clock until when the lab may have made something */
    readonly madeUntilMs: number,
  ) {}

  /**
   * Notes what the lab is about to make.
   * @throws LocalizedError FAILED when one of them is there already
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

  /** Those of a lab whose process was killed. */
  static of(deps: OwnObjectsDeps, { record, seenAtMs }: FoundRecord): OwnObjects {
    return new OwnObjects(deps, record, undefined, seenAtMs + record.aheadMs + SLACK_MS);
  }

  /** Notes what is made, as long as the lab goes on. */
  follow(): void {
    const { signal } = this.#over;
    const looking = async () => {
      for (;;) {
        await this.deps.wall.sleep(NOTE_AGAIN_MS, signal);
        // A cluster that does not answer is asked again the next time.
        await this.look().catch(wordsOf);
      }
    };
    this.#following = looking().catch(() => {}); // The lab's end, mostly. What is not noted is known by its age.
  }

  /** Notes what is there now. @throws LabError CLUSTER_UNREACHABLE, BAD_FILE */
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

  /** What there is to take away. @throws LabError CLUSTER_UNREACHABLE */
  async left(): Promise<Leftovers> {
    const [ours, others]: [string[], string[]] = [[], []];
    const paths = new Set([...this.record.paths, ...(await this.#ofNodes())]);
    for (const path of paths) {
      const { status, body } = await this.#get(path);
      if (status < 300) (this.#isOurs(path, body) ? ours : others).push(nameOf(path));
    }
    return { ours, others };
  }

  /** Takes away all of it, whatever has come of it. @returns what could not be taken away, in words; none: all is gone */
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

  /** Of a node that is somebody else's by now nothing is touched. */
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

  /** What is found by its node is not among the paths: whose it is, its node has said. */
  #isOurs(path: string, { metadata }: KubeObject): boolean {
    if (!this.record.paths.includes(path)) return true;
    if (this.record.made[path]?.includes(metadata.uid ?? "") === true) return true;
    return !(Date.parse(metadata.creationTimestamp ?? "") > this.madeUntilMs);
  }

  /** @returns undefined: it is gone, or somebody else's; else why it is not */
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

  /** A pod that is held by a finalizer is not deleted by a DELETE. */
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

/** The cluster may be out of reach by now: the rest of the lab's end goes on. @throws what is no LabError */
function wordsOf(error: unknown): string {
  if (!(error instanceof LabError)) throw error;
  return error.message;
}
