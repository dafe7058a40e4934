/**
 * Differences between two runs of the same server, in addition to those that the recordings' normaliser replaces, and
 * managedFields that it does not see. Each rule applies to both sides and states its reason.
 */
import { isRecord } from "../../src/util/records.js";
import type { Item } from "./item.js";
import { comparableTimeline } from "./timeline.js";

type Fields = Record<string, unknown>;

interface Rule {
  readonly topics?: readonly string[];
  readonly apply: (item: Item) => Item;
}

export function withoutChance(topic: string, item: Item): Item {
  return RULES.reduce(
    (result, { topics, apply }) => (topics === undefined || topics.includes(topic) ? apply(result) : result),
    item,
  );
}

const RULES: readonly Rule[] = [
  // The last five characters of a generateName name are random.
  { apply: (item) => deep(item, generatedName) as Item },
  // Each cluster has a new CA. The normaliser replaces certificates in base64, but not in plain PEM.
  { apply: (item) => texts(item, (text) => text.replace(PEM_CERTIFICATE, "<certificate>")) },
  // Event names contain a time in nanoseconds.
  { apply: (item) => texts(item, (text) => text.replace(EVENT_NAME, "$1.<time>")) },
  // Whole seconds pass between a restart and the table that shows it. The normaliser replaces ages that stand alone.
  { apply: (item) => texts(item, (text) => text.replace(RESTART_AGE, "(<age> ago)")) },
  // A seeded object's number can equal one that the recorder requests explicitly; those stay unchanged.
  { topics: ["tables"], apply: (item) => deep(item, seededVersion) as Item },
  // The next free range of the cluster. The normaliser replaces it as a field, but not inside a text.
  { apply: (item) => texts(item, (text) => text.replace(POD_CIDR, "<cidr>")) },
  // A list or watch that begins from the cache gets the objects in the order of a Go map.
  { apply: cacheOrder },
  // All comparisons ignore managedFields; the normaliser does not see those inside texts and protobuf …
  { apply: (item) => texts(item, (text) => withoutJsonManagedFields(text).replace(YAML_MANAGED_FIELDS, "")) },
  // … nor that their length decides whether a response has a Content-Length or chunks.
  { apply: withoutFramingOfObjects },
  { topics: ["discovery"], apply: (item) => deep(item, protobufObject) as Item },
  { topics: ["discovery"], apply: (item) => texts(item, (text) => text.replace(YAML_RESOURCE_VERSION, "$1<rv>")) },
  // Controllers need a moment to taint a node whose condition changed; how many requests come first is a race.
  // Unlike the taints of admission and of these requests, theirs have a timeAdded.
  { topics: ["lease-node"], apply: (item) => deep(item, withoutControllersTaints) as Item },
  // The recorder writes digits of its clock.
  { topics: ["watch"], apply: (item) => deep(item, clockDigits) as Item },
  // Only the steps between these resourceVersions are significant; their start depends on the cluster.
  { topics: ["watch"], apply: sequenceFromZero },
  // The build of a server: the recorded one had no version stamps, ours has no Go.
  { topics: ["discovery", "auth"], apply: (item) => deep(item, buildInfo) as Item },
  { topics: ["discovery"], apply: (item) => texts(item, (text) => text.replace(BUILD_FIELD, '"$1": "<build>"')) },
  // The phase of a controller's period at some moment, and the order of simultaneous writes.
  { topics: ["node-lifecycle"], apply: timelineOf },
  // The time of a frame, and the order of two channels.
  { topics: ["websocket"], apply: framesByChannel },
];

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const EVENT_NAME = /^([a-z0-9.-]+)\.1[0-9a-f]{15}$/;
const RESTART_AGE = /\((\d+[dhms])+ ago\)$/;
const POD_CIDR = /\b10\.244\.\d+\.0\/24\b/g;
const YAML_RESOURCE_VERSION = /(^ +resourceVersion: )"\d+"/gm;
const EMBEDDED_OBJECT = /\{\\*"(?:kind|apiVersion|metadata)\\*":/;
const YAML_MANAGED_FIELDS = /^ {2}managedFields:\n(?: {2}- .*\n| {4}.*\n)*/gm;

const BUILD_FIELDS = /^(major|minor|git\w+|buildDate|goVersion|compiler|platform)$/;
const BUILD_FIELD = /"(major|minor|git\w+|buildDate|goVersion|compiler|platform)": "[^"]*"/g;

/** The set and order of the fields are still compared. */
function buildInfo(value: unknown): unknown {
  if (!isRecord(value) || typeof value["gitVersion"] !== "string") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => [name, BUILD_FIELDS.test(name) ? "<build>" : text]),
  );
}

function generatedName(value: unknown): unknown {
  if (!isRecord(value) || typeof value["generateName"] !== "string") return value;
  return { ...value, name: `${value["generateName"]}<5>` };
}

function seededVersion(value: unknown): unknown {
  if (!isRecord(value) || !/^\d+$/.test(String(value["resourceVersion"])) || !("uid" in value)) return value;
  return { ...value, resourceVersion: "<rv>" };
}

function cacheOrder(item: Item): Item {
  const { path = "", method } = fieldsOf(item["request"]);
  const query = new URLSearchParams(String(path).split("?")[1] ?? "");
  const response = fieldsOf(item["response"]);
  const { body, events } = response;
  if (Array.isArray(events) && ["0", null].includes(query.get("resourceVersion"))) {
    const live = events.findIndex((event) => fieldsOf(event)["type"] !== "ADDED");
    const initial = live < 0 ? events : events.slice(0, live);
    return { ...item, response: { ...response, events: [...sorted(initial), ...events.slice(initial.length)] } };
  }
  const { items } = fieldsOf(body);
  if (method !== "GET" || !isFromCache(query) || !Array.isArray(items)) return item;
  return { ...item, response: { ...response, body: { ...fieldsOf(body), items: sorted(items) } } };
}

/** Mirrors k8s.io/apiserver/pkg/storage/cacher/cacher.go (shouldDelegateList), negated. */
function isFromCache(query: URLSearchParams): boolean {
  const version = query.get("resourceVersion") ?? "";
  const hasLimit = (query.get("limit") ?? "0") !== "0" && version !== "0";
  return version !== "" && !hasLimit && !query.has("continue") && query.get("resourceVersionMatch") !== "Exact";
}

function sorted(objects: readonly unknown[]): unknown[] {
  const key = (one: unknown) => {
    const fields = fieldsOf(one);
    const { namespace = "", name = "" } = fieldsOf(fieldsOf(fields["object"] ?? fields)["metadata"]);
    return `${namespace}/${name}`;
  };
  return [...objects].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

function withoutFramingOfObjects(item: Item): Item {
  const { path = "" } = fieldsOf(item["request"]);
  const response = fieldsOf(item["response"]);
  const { body, headers } = response;
  const holdsObject =
    isRecord(body) && body["kind"] === "Status"
      ? EMBEDDED_OBJECT.test(String(body["message"]))
      : isResource(String(path));
  if (!holdsObject || !isRecord(headers)) return item;
  const { "transfer-encoding": _framing, ...others } = headers;
  return { ...item, response: { ...response, headers: others } };
}

/** `/api/v1/nodes`, `/apis/apps/v1/deployments`; not the discovery paths above them */
function isResource(path: string): boolean {
  return /^\/api\/[^/]+\/.|^\/apis\/[^/]+\/[^/]+\/./.test(path);
}

/** Per side and channel, each in order; the close comes last. */
function framesByChannel(item: Item): Item {
  const { frames } = item;
  if (!Array.isArray(frames)) return item;
  const channelOf = (frame: Fields) => (frame["op"] === "close" ? 256 : Number(frame["firstByte"] ?? 0));
  const key = (frame: Fields) => `${frame["from"]} ${String(channelOf(frame)).padStart(3, "0")}`;
  const untimed = frames.map((frame) => {
    const { at: _at, ...rest } = fieldsOf(frame);
    return rest;
  });
  return { ...item, frames: untimed.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0)) };
}

function timelineOf(item: Item): Item {
  const { timeline } = item;
  return Array.isArray(timeline) ? { ...item, timeline: comparableTimeline(timeline) } : item;
}

/** Removes `"managedFields":[…],` from a text, however often its quotes are escaped. */
function withoutJsonManagedFields(text: string): string {
  for (let rest = text; ; ) {
    const found = /,?\\*"managedFields\\*":\[/.exec(rest);
    if (found === null) return rest;
    let end = found.index + found[0].length;
    // Brackets inside the strings of managedFields come in pairs.
    for (let depth = 1; depth > 0 && end < rest.length; end++) {
      if (rest[end] === "[") depth++;
      else if (rest[end] === "]") depth--;
    }
    rest = rest.slice(0, found.index) + rest.slice(end);
  }
}

/** Protobuf as the recorder shows it: the bytes in base64, with uid, resourceVersion and time as numbered fields. */
function protobufObject(value: unknown): unknown {
  if (!isRecord(value) || !("protobufAfterMagic" in value)) return value;
  const { base64: _same, ...rest } = value;
  return deep(rest, (one) => {
    if (!Array.isArray(one)) return one;
    return one
      .filter((field) => !isManagedFieldsEntry(field))
      .map((field) => {
        if (!Array.isArray(field)) return field;
        if (field[0] === 6 && /^\d+$/.test(String(field[1])) && typeof field[1] === "string") return [6, "<rv>"];
        return field[0] === 1 && Number(field[1]) > 1_000_000_000 ? [1, "<time>"] : field;
      });
  });
}

/** Field 17 of ObjectMeta. */
function isManagedFieldsEntry(field: unknown): boolean {
  return Array.isArray(field) && field[0] === 17 && Array.isArray(field[1]);
}

function withoutControllersTaints(value: unknown): unknown {
  if (!isRecord(value) || !Array.isArray(value["taints"])) return value;
  const taints = value["taints"].filter((taint) => !("timeAdded" in fieldsOf(taint)));
  const { taints: _all, ...rest } = value;
  return taints.length === 0 ? rest : { ...rest, taints };
}

function clockDigits(value: unknown): unknown {
  if (!isRecord(value) || !isRecord(value["data"])) return value;
  const { k } = value["data"];
  return /^\d{4}$/.test(String(k)) ? { ...value, data: { ...value["data"], k: "<clock>" } } : value;
}

function sequenceFromZero(item: Item): Item {
  const { sequence } = item;
  if (!Array.isArray(sequence)) return item;
  const first = Number(sequence[0]?.[1]);
  return { ...item, sequence: sequence.map(([resource, version]) => [resource, Number(version) - first]) };
}

/** Applies `change` to every value, innermost first. */
function deep(value: unknown, change: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return change(value.map((one) => deep(one, change)));
  if (!isRecord(value)) return change(value);
  return change(Object.fromEntries(Object.entries(value).map(([key, one]) => [key, deep(one, change)])));
}

function texts(item: Item, change: (text: string) => string): Item {
  return deep(item, (value) => (typeof value === "string" ? change(value) : value)) as Item;
}

function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}
